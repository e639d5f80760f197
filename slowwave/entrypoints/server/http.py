"""HTTP/1.1 as uvicorn speaks it, and a bound on how long the head of a request may take to arrive."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = "slowwave_head_seconds"
"""The name of the bound in the protocol's configuration."""

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def protocol_with(head_seconds: float) -> type[H11Protocol]:
    """A protocol that lets go of a connection on which no whole head arrived in time: an idle one, or a slow one."""

    class Timed(H11Protocol):
        """A connection with a clock that runs whenever no request is being answered."""

        _clock: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]
            self._arm()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._arm()

        def connection_lost(self, exc: Exception | None) -> None:
            self._disarm()
            super().connection_lost(exc)

        def _arm(self) -> None:
            self._disarm()
            self._clock = self.loop.call_later(head_seconds, self._late)

        def _disarm(self) -> None:
            if self._clock is not None:
                self._clock.cancel()

        def _late(self) -> None:
            is_idle = getattr(self.cycle, "response_complete", True)  # no cycle before the first request
            if is_idle and not self.transport.is_closing():
                self.transport.write(TOO_SLOW)
                self.transport.close()

    return Timed
