"""What a reload may change: for every setting, from when on a new value of it counts.

`docs/operating.md` tells the same, and a test holds both against the settings that there are.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Effect(StrEnum):
    """From when on a changed setting counts."""

    AT_ONCE = "at once"
    JOBS = "new jobs"
    CONNECTIONS = "new connections"
    RESTART = "restart"


_E: Final = Effect

RULES: Final[Mapping[str, Effect]] = {
    "daemon.state_dir": _E.RESTART,
    "daemon.log_level": _E.AT_ONCE,
    "daemon.log_format": _E.AT_ONCE,
    "daemon.drain_s": _E.AT_ONCE,
    "daemon.slots": _E.AT_ONCE,
    "api.socket": _E.RESTART,
    "api.mode": _E.RESTART,
    "api.group": _E.RESTART,
    "retention.sent_s": _E.AT_ONCE,
    "retention.failed_s": _E.AT_ONCE,
    "retention.events_s": _E.AT_ONCE,
    "retention.staged_s": _E.AT_ONCE,
    "metrics": _E.RESTART,
    "metrics.listen": _E.RESTART,
    "metrics.token": _E.RESTART,
    "digest.at": _E.AT_ONCE,
    "listener": _E.RESTART,
    "listener.hostname": _E.CONNECTIONS,
    "listener.listen": _E.RESTART,
    "listener.domains": _E.AT_ONCE,
    "listener.tls_certificate": _E.CONNECTIONS,
    "listener.tls_key": _E.CONNECTIONS,
    "listener.max_message_bytes": _E.CONNECTIONS,
    "listener.postmaster": _E.AT_ONCE,
    "listener.trusted_relays": _E.CONNECTIONS,
    "listener.trusted_authserv_ids": _E.AT_ONCE,
    "listener.resolvers": _E.AT_ONCE,
    "tokens.keys": _E.AT_ONCE,
    "tokens.expiry_s": _E.JOBS,
    "relay.NAME.host": _E.CONNECTIONS,
    "relay.NAME.tls": _E.CONNECTIONS,
    "relay.NAME.port": _E.CONNECTIONS,
    "relay.NAME.tls_ca": _E.CONNECTIONS,
    "relay.NAME.auth": _E.CONNECTIONS,
    "relay.NAME.username": _E.CONNECTIONS,
    "relay.NAME.password": _E.CONNECTIONS,
    "relay.NAME.pace.per_second": _E.AT_ONCE,
    "relay.NAME.pace.burst": _E.AT_ONCE,
    "relay.NAME.pace.per_minute": _E.AT_ONCE,
    "relay.NAME.pace.per_day": _E.AT_ONCE,
    "relay.NAME.concurrency": _E.AT_ONCE,
    "relay.NAME.max_per_connection": _E.AT_ONCE,
    "relay.NAME.idle_close_s": _E.AT_ONCE,
    "mailbox.id": _E.AT_ONCE,
    "mailbox.address": _E.JOBS,
    "mailbox.relay": _E.AT_ONCE,
    "mailbox.pace.per_second": _E.AT_ONCE,
    "mailbox.pace.burst": _E.AT_ONCE,
    "mailbox.pace.per_minute": _E.AT_ONCE,
    "mailbox.pace.per_day": _E.AT_ONCE,
    "mailbox.domain_pace.DOMAIN.per_second": _E.AT_ONCE,
    "mailbox.domain_pace.DOMAIN.burst": _E.AT_ONCE,
    "mailbox.domain_pace.DOMAIN.concurrency": _E.AT_ONCE,
    "mailbox.concurrency": _E.AT_ONCE,
    "mailbox.lanes.high": _E.AT_ONCE,
    "mailbox.lanes.standard": _E.AT_ONCE,
    "mailbox.lanes.bulk": _E.AT_ONCE,
    "mailbox.lanes.reserve_high": _E.AT_ONCE,
    "mailbox.lanes.bulk_per_second": _E.AT_ONCE,
    "mailbox.retry.first_s": _E.AT_ONCE,
    "mailbox.retry.factor": _E.AT_ONCE,
    "mailbox.retry.cap_s": _E.AT_ONCE,
    "mailbox.retry.jitter": _E.AT_ONCE,
    "mailbox.retry.max_attempts": _E.AT_ONCE,
    "mailbox.retry.lifetime_s": _E.AT_ONCE,
    "mailbox.on_uncertain": _E.AT_ONCE,
    "mailbox.limits.queued": _E.JOBS,
    "mailbox.limits.accepted_per_hour": _E.JOBS,
    "mailbox.limits.attachment_bytes": _E.JOBS,
    "mailbox.recipients_allow": _E.JOBS,
    "mailbox.recipients_deny": _E.JOBS,
    "mailbox.divert_to": _E.JOBS,
    "mailbox.attachment_roots": _E.JOBS,
    "mailbox.auto_submitted": _E.JOBS,
    "mailbox.reply_address": _E.JOBS,
    "mailbox.return_path": _E.JOBS,
    "mailbox.accept_new": _E.AT_ONCE,
    "mailbox.require": _E.AT_ONCE,
    "mailbox.success_reports": _E.AT_ONCE,
    "mailbox.owner": _E.AT_ONCE,
}
