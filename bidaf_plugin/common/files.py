import os


def write_atomically(path: str, text: str) -> None:
    """Writes a text file that is either whole or not there, whatever happens meanwhile."""
    temporary_path = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary_path, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary_path, path)
    finally:
        if os.path.exists(temporary_path):
            os.remove(temporary_path)
