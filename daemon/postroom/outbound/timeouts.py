"""How long we wait for a relay, stage by stage (RFC 5321 §4.5.3.2)."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The defaults are the RFC's, or what Postfix does where the RFC is silent.

    `dial` bounds everything up to the login over all addresses, `connect` the TCP handshake with each. `block` is for
    each drain of the content; `final` for the reply to the final dot alone: to give up earlier makes doubt. `slow` is
    when a wait for that reply is reported. `aftermath` bounds what follows a refusal: RSET, or the lone dot; `leave` QUIT.
    """

    dial: timedelta = timedelta(minutes=10)
    connect: timedelta = timedelta(seconds=30)
    greeting: timedelta = timedelta(minutes=5)
    command: timedelta = timedelta(minutes=5)
    data: timedelta = timedelta(minutes=2)
    block: timedelta = timedelta(minutes=3)
    final: timedelta = timedelta(minutes=10)
    slow: timedelta = timedelta(seconds=30)
    aftermath: timedelta = timedelta(seconds=20)
    leave: timedelta = timedelta(seconds=1)
