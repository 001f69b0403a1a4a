from typing import Dict, Optional


class RequestError(Exception):
    """
    A request that gets no answer.

    # Parameters

    status : `int`
        Of HTTP.
    message : `str`
        One sentence for whoever asked.
    retry_after : `int`, optional (default = `None`)
        After how many seconds it is worth trying again.
    """

    def __init__(self, status: int, message: str, retry_after: Optional[int] = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after

    @property
    def headers(self) -> Dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
