"""
Pages for people: single files that need no server and no network, from the templates of the package.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: Any) -> str:
    """
    A page from `templates/`. Most templates extend `base.html`, which wants a `title` and embeds `data`,
    if there is any, as JSON for the page's script:
    `JSON.parse(document.getElementById("data").textContent)`.

    Every value is escaped, wherever in a template it stands: text from passages, questions or file
    names never becomes markup.

    A value that the template misses is an error, not an empty place.
    """
    page = _environment().get_template(template).render(**values)
    # Halves of characters (lone surrogates), which JSON files can hold, cannot be written.
    return page.encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bidaf_plugin.analysis"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # `tojson` escapes <, >, & and ', so that nothing ends a <script>, and with `ensure_ascii` also the
    # line separators U+2028 and U+2029. NaN is not JSON: browsers would refuse all of the data.
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": True, "allow_nan": False}
    return environment
