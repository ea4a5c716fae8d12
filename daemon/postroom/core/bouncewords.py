"""Words by which delivery reports say why, in many languages: data for `core.bounceplain`, tried in this order.

A row holds where all parts of one of its ways, set apart by `+`, are in the text (lower case, without addresses, codes
and line ends). What a relay says to us in the same words is read from `core.replytable`, which is tried after these
rows: here stands what only reports say, what must be told from it first, and what it has no word for.
"""

from dataclasses import dataclass
from typing import Final

from postroom.core.bouncereason import BounceReason


@dataclass(frozen=True, slots=True)
class Phrases:
    """Ways to say one thing."""

    id: str
    reason: BounceReason
    ways: tuple[tuple[str, ...], ...]


def _row(row_id: str, reason: BounceReason, *ways: str) -> Phrases:
    return Phrases(row_id, reason, tuple(tuple(way.split("+")) for way in ways))


_R = BounceReason

# What is about us, our host and our mail: it must never be taken for the recipient's fault.
_OURS: Final = (
    _row("relaying", _R.RELAYING_DENIED, "as a relay", "mail relay", "not relay", "non-local e-mail address",
        "not local host", "specified domain is not allowed", "allowed rcpthosts", "we don't handle mail for",
        "non-accepted domain", " relay +denied", "must be authenticated", "relaying", "to relay", "relay through", "relay not permitted",
        "relay prohibited", "not a gateway", "open relay not allowed", "local user only", "unauthorized relay",
        "unauthorised relay"),
    _row("too-many-kept", _R.RECIPIENT_MAILBOX_FULL, "too many messages on", "too many messages in", "mail stored", "disk quota exceeded",
        "zuviele mails auf", "zu viele mails auf"),
    _row("account-on-hold", _R.RECIPIENT_DISABLED, "account+ on hold", "mailbox+ on hold"),
    _row("on-hold", _R.UNKNOWN, " on hold", "due to a recipient error"),
    _row("no-tls", _R.DOMAIN_TROUBLE, "does not support tls", "but was not offered by host",
        "certificate not trusted", "certificate verif", "certificate has expired",
        "starttls is required to send mail"),
    # codes of the large American cable providers, which they publish
    _row("cable-rate", _R.RATE_LIMITED, "cxthrt", "cxcnct", "aup#out", "aup#1260"),
    _row("cable-rate-too", _R.RATE_LIMITED, "aup#in-1310"),
    # codes of a large French provider
    _row("french-spam", _R.MESSAGE_SPAM, "ofr_506", "lpn007_506"),
    _row("french-block", _R.SENDER_REFUSED, "ofr_999", "lpn_999"),
    _row("french-trouble", _R.DOMAIN_TROUBLE, "ofr005_505"),
    _row("french-refusal", _R.UNKNOWN, "service refuse"),
    # codes of a large Chinese provider, which it publishes
    _row("chinese-rate", _R.RATE_LIMITED, "hl:icc", "hl:ifc", "mi:dmc", "mi:sfq", "mi:stc", "rp:drc", "rp:rcl"),
    _row("chinese-spam", _R.MESSAGE_SPAM, "dt:spm", "dt:sum"),
    _row("chinese-block", _R.SENDER_REFUSED, "hl:rep", "hl:ipb", "hl:mep", "dt:rbl", "wm:bli", "wm:blu"),
    # Exchange Online: an address that its directory does not have; all of them: the sender
    _row("all-refused", _R.SENDER_REFUSED, "all recipient addresses rejected"),
    _row("directory", _R.RECIPIENT_UNKNOWN, "recipient address rejected: access denied",
        "mailbox unavailable or access denied", "mailbox not found or access denied"),
    _row("no-such-phone", _R.RECIPIENT_UNKNOWN, "no valid recipients for this mm"),
    _row("no-connections", _R.SENDER_REFUSED, "not accepting connections"),
    _row("cable-block", _R.SENDER_REFUSED, "aup#cdrbl", "aup#cxbl", "ipbl0", "cxdns"),
    _row("called-back", _R.SENDER_REFUSED, "sender verify failed"),
    _row("no-address-there", _R.DOMAIN_UNKNOWN, "account or domain may not exist"),
    _row("put-off", _R.DOMAIN_TROUBLE, "unverified address", "verification in progress", "not yet authori", "greylist", "graylist",
        "grey listed", "internal resource"),
    _row("spam-class", _R.MESSAGE_SPAM, "spam classification", "no spam please", "marked as spam", "classified as spam", "looks like spam",
        "spam pattern", "spam content"),
    _row("bad-reputation", _R.SENDER_REFUSED, "reputation", "[tss0", "unexpected volume", "user complaints",
        "senderscore", "sender score"),
    _row("too-many", _R.RATE_LIMITED, "maximum connection limit", "per-domain connection limit", "queue quota",
        "too many recent", "max emails per hour", "message quota exceeded", "too many errors from your ip",
        "trop de connexions", "try again slower", "hourly limit", "too much mail", "frequency limited",
        "too many connection", "too many recipient", "too many message", "too many mail", "too many email",
        "too many concurrent", "too many session", " rate limit", "sending rate", "too fast", "throttl",
        "message rate", "messages per hour", "connection rate", "exceeded+connection limit", "exceeded the limit of",
        "excessive rate", "too quickly", "receiving mail at a rate", "limit for processing requests", "credits exceeded"),
    _row("authentication", _R.SENDER_UNAUTHENTICATED, "spf.pobox.com", "required authentication level",
        "inspect your spf", "domain authentication fail", "dkim+invalid", "spf+fail", "spf record", "bad spf",
        "dmarc", "dkim+fail", "dkim+require", "unauthenticated email", "unauthenticated mail",
        "unauthenticated message", "authentication information", "domain owner policy", "authentication checks failed",
        "sender policy framework", "spf+not allowed", "spf+not authorized", "spf validation", "spf check",
        "sender id+fail", "email authentication", "not pass authentication"),
    _row("no-reverse-name", _R.SENDER_REFUSED, "valid reverse", "unresolvable relay host", "matching reverse",
        "dns ptr", "reverse dns", "ptr record", "no ptr", "rdns", "reverse lookup", "unverifyable sending ip",
        "unverifiable sending ip", "cannot resolve your address", "reverse hostname", "reverse record",
        "without a valid sender domain", "valid ptr", "cannot find your hostname", "name lookup failed",
        "cannot find your reverse"),
    _row("block-list", _R.SENDER_REFUSED, "on our block", "refused - see http", "email blocked", "blocked by our",
        "abuseat", "uceprotect", "listed at", "bl.score", "blocked using", "spamhaus", "spamcop", "sorbs", "dnsbl",
        " rbl", "rbl.", "blacklist", "banned sender", "ask your postmaster for help", "black list", "blocklist",
        "block list", "banned sending ip", " ip +is blocked", "(bl)", "cloudmark+block", "blocked - see",
        "blocked by+ ip ", "currently listed", "listed by ", "barracudacentral"),
    _row("denied-by-policy", _R.MESSAGE_REFUSED, "denied by policy"),
    _row("host-refused", _R.SENDER_REFUSED, "access from ip", "confirm this mail server",
        "connection was dropped by", "denied by", "from your network", "forbidden ip", "go away",
        "hosts with dynamic", "open proxy", "remotehost looks", "not allowed to connect", "requires confirmation",
        "no matches to nameserver query", "sending mta or the sender", "client host rejected",
        "use the smtp server of your isp", "contact your internet service provider", "blocked for abuse",
        "invalid ip for sending", "open relay", "no access from mail server", "my name was rejected",
        "invalid domain name", "helo command rejected", "helo/ehlo", "invalid helo", "bad helo", "openrelay", "dynamic ip",
        "dynamic address", "dialup", "dial-up", "residential", "connection refused by policy", "connection refused from", "connection rejected", "csi.cloudmark",
        "from this ip",
        "connections not accepted from", "access denied+ip address", "your ip", "ip address+rejected",
        "ip address+not allowed", "server access+forbidden", "blocked by ldap", "too many bad commands",
        "host+banned", "may not be mail exchanger", "not a mail exchanger"),
    _row("not-authorised", _R.RECIPIENT_REFUSED, "resolver.rst.notauthorized", "resolver.rst.restrictedto",
        "sendernotauthenticatedforgroup"),
    _row("recipient-size", _R.MESSAGE_TOO_BIG, "recipsizelimit", "sendsizelimit"),
    _row("policy-first", _R.MESSAGE_REFUSED, "account not subscribed", "authentication failed", "auth failed",
        "password", "credentials invalid", "insecure", "codes d'authentification", "tls required but",
        "could not retrieve credentials", "unauthenticated senders", "host network not allowed",
        "protocol violation", "protocol deviation", "resolver.rst", "authentication required", "authrequired", "local policy"),
    _row("sender", _R.SENDER_REFUSED, "bad outbound sender", "sender address has", "invalid dns mx",
        "allowed-senders", "allowed senders", "batv", "bogus mail from", "non-member", "members-only list",
        "bouncedeny", "senderfilterconfig", "emetteur invalide", "envelope senders not allowed",
        "no third-party dsns", "fully qualified email address", "mail from not owned",
        "is not a registered gateway user", "returned mail not accepted", "recursive cname", "sender email address",
        "sender is spammer", "not pre-approved", "sender was rejected", "does not accept mail from", "unsigned dsn",
        "unroutable sender", "access to submit messages", "your email address has been", "from: domain",
        "sender address rejected", "domain of sender", "sender rejected", "rejected mail from", "sender domain",
        "sender's domain", "sender denied", "dns check failed", "sender is not", "sender not", "sender verify", "sender verification",
        "invalid sender", "unknown sender", "sender+does not exist", "sender+blocked", "from address",
        "not a member of th", "not a member of l", "not a member of g", "are not member", "permission to post", "may not post", "is not allowed to post",
        "not allowed to send", "backscatter", "null sender", "empty envelope sender", "return path",
        "bounce address", "you are not allowed", "domain in from", "rejected by destination domain"),
    _row("group-post", _R.SENDER_REFUSED, "google groups", "groups.google.com"),
)  # fmt: skip

_SENT: Final = (
    _row("spam-checks", _R.MESSAGE_SPAM, "antispam check", "anti-spam check"),
    _row("full-too-big", _R.RECIPIENT_MAILBOX_FULL, "mailbox size limit", "mailbox limit", "mailbox size exceeded", "quota violation",
        "storage limit", "mailbox is full", "writing message: file too large"),
    _row("malformed", _R.MESSAGE_MALFORMED, "malformed mime", "conversion required", "character set", "from: header",
        "to: header", "header field", "without to:", "without from:", "mime complexity", "message header size",
        "header are not accepted", "header error", "8-bit data", "headers too large", "header too", "not rfc",
        "must be rfc", "multiple+headers", "rfc 5322", "rfc5322", "rfc2822", "rfc 2822", "rfc 822",
        "multiple+addresses in from", "bare lf", "bare line feed", "bare linefeed", "line too long", "line is too long", "lines too long",
        "invalid header", "missing header", "duplicate header", "missing from", "missing message-id", "8bit",
        "malformed message", "mime error", "improper use of 8-bit"),
    _row("virus", _R.MESSAGE_VIRUS, "executable attachment", "malicious", "virus", "malware", "infected",
        "unsafe content", " worm", "trojan", "mcspamsignature", "phishing"),
    _row("too-big", _R.MESSAGE_TOO_BIG, "fixed limit", "maximum value", "taille limite", "too large message",
        "message size", "message length", "size limit", "too big", "too large for", "limit exceeded",
        "message too large", "larger than", "exceeds maximum", "exceeds administrative limit", "exceeded the limit",
        "size exceeds", "exceeds the maximum", "mail too large", "nachricht zu groß", "trop volumineux",
        "demasiado grande", "サイズ+超"),
    _row("spam", _R.MESSAGE_SPAM, "blacklisted url", "bogofilter", "content denied", "bulk email", "mass mail",
        "bulk mail", "content filter", "spam", "content rejected", "unsolicited", "junk mail", "suspicious mail",
        "message+bulk", " ube, id", "high probability", "considered uce"),
    _row("policy", _R.MESSAGE_REFUSED, "illegal attachment", "bounced by administrator", "envelope blocked",
        "not accepting mail with", "closed mailing list", "organizational settings",
        "organization policy", "low priority", "captcha", "not authorized to send", "policy reasons", "due to policy", "policy restriction",
        "security polic", "content presents a potential", "administrative prohibition", "prohibited", "violat",
        "message not allowed", "blocked file", "attachment+not allowed", "executable", "you must turn on",
        "must be encrypted", "mail flow rule", "starttls", "tls+required", "administrator+reject", "delivery not authorized",
        "access denied"),
)  # fmt: skip

# What is about the recipient or where it lives.
_FULL: Final = _row("full", _R.RECIPIENT_MAILBOX_FULL, "exceeding+quota", "disc quota", "enough space",
    "storage allocation", "disk quota", "mail file size", "space limit", "quota usage", "maildir delivery failed",
    "allowed quota", "disk space", "storage quota", "mail box is full", "exceed the quota", "would exceed", "pleine",
    "over disk", "over quota", "overquota", "exceeded+quota", "exceeds+quota", "quota full", "out of storage",
    "storage+exceed", "mailfolder is full", "mailbox exceed", "mailbox+exceeded",
    "exceeds allowed size", "not enough storage space", "inbox+ full", "user is over", "account is full", "box full",
    "full mailbox", "mailbox_full", "insufficient space in mailbox", "postfach+voll", "speicherplatz", "buzón+lleno",
    "buzon+lleno", "casella+piena", "caixa+cheia", "mailbox is vol", "skrzynka+pełna", "переполнен", "メールボックス+一杯",
    "メールボックス+容量", "邮箱已满", "信箱已满", "容量超過", "용량+초과")  # fmt: skip
_DISABLED: Final = _row("disabled", _R.RECIPIENT_DISABLED, "account unavailable", "account not available", "archived recipient", "recipient unavailable", "archivee",
    "inactive user", "user is terminated", "suspend the service", "no longer accepts mail", "extended inactivity",
    "account+disabled", "account+inactive", "is inactive", "account+suspended", "user+suspended",
    "mailbox+suspended", "mailbox+disabled", "mailbox+frozen", "is frozen", "account+blocked",
    "account+discontinued", "account+expired", "user+disabled", "account+deactivated", "mailbox+deactivated",
    "account+ closed", "has been closed", "domain+suspended", "is suspended", "currently suspended",
    "recipient account", "compte+bloque", "cuenta+desactivada", "konto+gesperrt", "account temporarily",
    "mailbox currently", " locked", "temporarily deactivated", "not accepting messages")  # fmt: skip
_RECIPIENT: Final = (
    _row("their-own-programs", _R.DOMAIN_TROUBLE, "procmail", "user lookup failed", "user database",
        "mail system storage", "mail system is full", "ldap server", "lock failure", "mailbox.lock",
        "couldn't create"),
    _FULL,
    _DISABLED,
    _row("moved", _R.RECIPIENT_MOVED, "no longer on server", "has moved", "user not local; please try", "user moved",
        "address has changed", "new address", "address+changed to", "has been replaced by", "nouvelle adresse", "neue adresse"),
    _row("takes-no-mail", _R.DOMAIN_NO_MAIL, "mail receiving disabled", "no mx found", "no mx record",
        "not configured to accept mail", "null mx", "nullmx", "nomxhost", "no smtp service", "not accepting network messages",
        "not accepting mail", "receive email according", "does not receive mail", "does not accept mail",
        "doesn't accept mail", "no mail exchanger", "couldn't find a mail exchanger", "host/domain does not accept",
        "mx record+0 .", "no mx+accept"),
    _row("name-not-now", _R.DOMAIN_TROUBLE, "not found, try again", "lookup failure, try", "name lookup failure",
        "name server+fail", "temporary failure in name resolution", "no route to host",
        "name server reply", "malformed or unexpected", "bad dns", "dns+timeout", "dns+timed out"),
    _row("no-domain", _R.DOMAIN_UNKNOWN, "domain is not reachable", "domain must exist", "mail domain mentioned",
        "host unknown", "unknown host", "unknown domain", "domain unknown", "nxdomain", "domain name not found",
        "domain not found", "host not found", "find any host", "domain does not exist", "no such domain",
        "no relevant answers", "no data by dns", "name or service not known", "unrouteable mail domain", "unrouteable address",
        "unroutable", "domain+couldn't be found", "illegal host/domain", "no mx for", "bad destination host",
        "bad destination system", "bad destination mailbox domain", "hôte inconnu", "domaine+existe pas",
        "domain is invalid", "address reserved by", "未找到主機", "未找到主机", "找不到主机"),
)  # fmt: skip
_REFUSING: Final = (
    _row("unknown-later", _R.RECIPIENT_REFUSED, "no valid recipients", "only accepting mail from", "bounced address", "restricted sms",
        "is not accepting any mail", "user rules", "recipient preferences", "account is protected by",
        "user refuses", "user reject", "refuse to receive mail", "blocked by the recipient", "due to recipient",
        ": user unknown (in reply to end", "message filtered", "because the recipient is not accepting",
        "email preferences of the person", "recipient has blocked", "recipient+refuses", "user is not accepting",
        "rejected by recipient", "rejected by the recipient", "rejected by this user", "rejected by the user"),
)  # fmt: skip
_UNKNOWN: Final = (
    _row("unknown", _R.RECIPIENT_UNKNOWN, "can't accept user", "sconosciut", "destinatario errato",
        "final delivery user", "nessun utente", "mail box available", "not a local address",
        "recipient is not local", "recipient not ok", "recipient refuses to accept", "badrcptto", "validrcptto",
        "envelope recipient has been denied", "there is no one at", "undeliverable address",
        "missing home directory", "user not active", "virtual user",
        "email name is not found", "not listed in public", "invalid-recipient", "address invalid", "no user here",
        "unknown-user", "unknown user", "user unknown", "user not found", "user is unknown", "no such user",
        "no such mailbox", "no such recipient", "no such address", "no such account", "no such local",
        "no such person", "no user by that name", "no mailbox", "unknown recipient", "unknown local",
        "unknown or illegal", "unknown address", "unknown email", "unknown account", "unknown mailbox",
        "recipient not found", "recipientnotfound", "recipnotfound", "recipient unknown", "recipient+not recognized",
        "recipient is unknown", "invalid recipient", "invalid mailbox", "invalid user",
        "invalid address", "invalid local", "bad destination mailbox", "bad recipient", "bad address",
        "mailbox not found", "mailbox unknown", "mailbox unavailable", "mailbox name not allowed", "mailbox invalid",
        "address not found", "address unknown", "account+not found", "user doesn't exist",
        "user+doesn't have a", "user not known", "user+not exist", "not a valid mailbox", "not a valid user",
        "not a known user", "is not listed", "name is not recognized", "couldn't be found", "could not be found",
        "isn't a valid", "not a valid recipient", "inactive email address", "nosuchuser", "no longer available",
        "no longer in use", "no longer valid", "no account by that name", "no longer works", "verify the addresses",
        "recipient rejected", "does not exist", "unknown to", "destinataire+invalide", "destinataire inconnu",
        "adresse+invalide", "utilisateur inconnu", "adresse inconnue", "n'existe pas",
        "boîte aux lettres introuvable", "empfänger unbekannt", "empfaenger unbekannt", "empfänger existiert nicht",
        "unbekannter empfänger", "unbekannter benutzer", "benutzer unbekannt", "adresse existiert nicht",
        "usuario desconocido", "no existe", "destinatario desconocido", "destinatário inexistente",
        "usuário desconhecido", "não existe", "non esiste", "onbekende gebruiker", "bestaat niet", "okänd",
        "finns inte", "ukendt", "nieznany", "nie istnieje", "neexistuje", "неизвестный пользователь",
        "не существует", "не найден", "такого пользователя", "ディレクトリのリストにありません", "domino directory", "見つかりません",
        "存在しません", "ユーザ+不明", "不存在", "존재하지", "사용자를 찾을 수"),
)  # fmt: skip

# What went wrong over there.
_PEER: Final = (
    _row("gave-up", _R.DOMAIN_TROUBLE, "delivery time expired", "delivery expired", "mx record points to local host",
        "message seems to loop", "mailloop", "loop detected", "did not respond", "not+collected after",
        "multiple retries", "allowed queue period", "failed to deliver to domain", "looping", "forwarding loop",
        "computer could not be found", "retry time", "in the queue too long", "too long in queue", "message expired",
        "envelope expired", "queue.expired", "could not deliver for the last", "giving up",
        "failing for a long time", "delivery failed+attempts", "could not be delivered for",
        "cannot send message for", "was aborted after", "not delivered within", "undeliverable for",
        "unable to deliver this message after", "timed out", "timeout", "time out", "host not reachable",
        "not responding", "didn't respond", "connection refused", "connection reset", "connection lost", "lost connection",
        "could not connect", "unable to connect", "can't connect", "cannot connect", "couldn't connect",
        "did not accept our requests to connect", "no smtp servers were available", "tried all mxs", "not contactable", "socket error", "network error", "network is unreachable",
        "host is unreachable", "host unreachable", "no route", "connection died", "connection closed", "connection dropped",
        "conversation+timed", "error communicating", "establish an smtp connection", "smtp connection got far",
        "connect to", "could not find a gateway", "unable to contact", "wasn't able to establish", "routing loop",
        "mail loop", "too many hops", "too many received", "hop count", "maximum allowed times", "loops back", "has been delayed",
        "nicht erreichbar", "zeitüberschreitung", "délai", "tiempo de espera", "тайм-аут"),
    _row("trouble", _R.DOMAIN_TROUBLE, "dns error", "no such file", "can not open", "cannot open",
        "connection with+is broken", "internal error", "could not be stored", "error writing", "write error",
        "misconfigured", "no mdb", "queue file write", "local problem", "waiting for input", "exit code",
        "permission denied", "bin/vacation", "mail system full", "error in processing", "system error",
        "system problem", "mailer error", "maildrop", "service currently unavailable", "service unavailable",
        "temporarily unavailable", "temporary failure", "temporary error", "temporary problem", "transaction failed",
        "local error", "insufficient permission", "insufficient system", "could not load", "can't create",
        "cannot create", "input/output error", "i/o error", "resources", "command output", "command failed",
        "command died", "pipe to |", "configuration error", "command parameter not", "command not implemented",
        "unrecognized command", "syntax error", "bad sequence", "sequence of commands", "malformed address",
        "need rcpt", "server error", "processing error", "delivery error", "out of memory", "disk full",
        "no space left", "upstream error", "upstream unreachable", "interrupted", "exit status"),
)  # fmt: skip

# Said of an address without a word on why: the status says more.
LAST: Final = (
    _row("bare-refusal", _R.RECIPIENT_UNKNOWN, "recipient address rejected. (in reply to rcpt"),
    _row("not-theirs", _R.RECIPIENT_UNKNOWN, "not our customer"),
    _row("refused", _R.RECIPIENT_REFUSED, "address rejected", "recipient address+denied",
        "recipients was rejected by", "by a remote mail server", "automatically rejected"),
)  # fmt: skip

OURS: Final = _OURS
THEIRS: Final = (*_SENT, *_RECIPIENT, *_REFUSING)
NOBODY: Final = _UNKNOWN
PEER: Final = _PEER
