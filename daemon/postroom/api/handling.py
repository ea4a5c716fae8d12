"""What every HTTP connection of ours has: no request that can not be read, and no fault, is answered in aiohttp's words."""

from typing import Final

from aiohttp import web

from postroom.api.door import refuse
from postroom.api.problems import Code, Refusal


_INTERNAL: Final = 500


class Handler(web.RequestHandler):
    """One connection."""

    @property
    def is_waiting(self) -> bool:
        """Whether there is no whole request of it that is not answered."""
        waiter = self._waiter
        return not self._request_count or (waiter is not None and not waiter.done())

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = _INTERNAL,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what aiohttp could not read, or where it failed. Raises: ConnectionError in the middle of one."""
        if request.writer.output_size:
            raise ConnectionError
        if status < _INTERNAL:
            return refuse(Refusal(Code.BAD_REQUEST, "The request can not be read as HTTP."))
        return refuse(Refusal(Code.INTERNAL, "Something went wrong on our side."))
