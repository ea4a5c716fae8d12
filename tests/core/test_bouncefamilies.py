"""Reports in wordings that no table lists: what they say, and of whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.bounceplain import WORDS_MOST, find_reason, plain_words
from postroom.core.bounceread import Said, make_sense
from postroom.core.bouncereason import BounceReason, Sense


_R = BounceReason

# In the words of nobody in particular: what is said at RCPT, and what it comes to.
FAMILIES = {
    "nobody, of a customer": ("550 5.1.1 The customer you wrote to is not registered with us", _R.RECIPIENT_UNKNOWN),
    "nobody, before its noun": ("550 5.1.1 Nonexistent recipient", _R.RECIPIENT_UNKNOWN),
    "nobody, in one word": ("550 BAD_RECIPIENT", _R.RECIPIENT_UNKNOWN),
    "nobody, misspelt": ("550 local system don't exists that user", _R.RECIPIENT_UNKNOWN),
    "nobody, in a policy's number": ("554 5.7.1 Recipient address rejected: user nonexisting", _R.RECIPIENT_UNKNOWN),
    "nobody, no longer": ("550 5.1.1 That person is no longer employed here", _R.RECIPIENT_UNKNOWN),
    "nobody, unallocated": ("550 5.1.1 that box is unallocated", _R.RECIPIENT_UNKNOWN),
    "nobody, es": ("550 5.1.1 La direccion indicada no existe", _R.RECIPIENT_UNKNOWN),
    "nobody, fi": ("550 5.1.1 Vastaanottaja on tuntematon", _R.RECIPIENT_UNKNOWN),
    "nobody, sv": ("550 5.1.1 Mottagaren är okänd", _R.RECIPIENT_UNKNOWN),
    "nobody, pl": ("550 5.1.1 Adresat jest nieznany", _R.RECIPIENT_UNKNOWN),
    "nobody, of a box": ("550 No such maildrop", _R.RECIPIENT_UNKNOWN),
    "nobody, of no one": ("550 Nobody with that address lives here", _R.RECIPIENT_UNKNOWN),
    "nobody, not in a list": ("550 Recipient not on the address list", _R.RECIPIENT_UNKNOWN),
    "nobody, looked for": ("550 Cannot locate the user", _R.RECIPIENT_UNKNOWN),
    "nobody, of another's mail": ("550 this server does not handle mail for that user", _R.RECIPIENT_UNKNOWN),
    "off, unpaid": ("550 The mailbox is on hold until it is paid", _R.RECIPIENT_DISABLED),
    "off, not yet on": ("550 account awaiting activation", _R.RECIPIENT_DISABLED),
    "off, for want of use": ("550 Esta casilla ha vencido", _R.RECIPIENT_DISABLED),
    "off, hibernated": ("550 5.7.1 the user's account was hibernated", _R.RECIPIENT_DISABLED),
    "off, before its noun": ("550 Dormant mailbox", _R.RECIPIENT_DISABLED),
    "off, de": ("550 Das Konto ist abgelaufen", _R.RECIPIENT_DISABLED),
    "full, overdrawn": ("550 his maildir is overdrawn", _R.RECIPIENT_MAILBOX_FULL),
    "full, without room": ("552 Her mailbox has no free space", _R.RECIPIENT_MAILBOX_FULL),
    "full, by count": ("550 the user has too many messages on the server", _R.RECIPIENT_MAILBOX_FULL),
    "full, where both are named": ("552 5.2.2 message too large, or the mailbox is full", _R.RECIPIENT_MAILBOX_FULL),
    "full, fr": ("552 La boîte du client est saturée", _R.RECIPIENT_MAILBOX_FULL),
    "no domain": ("451 4.5.2 the domain doesn't exist", _R.DOMAIN_UNKNOWN),
    "no domain, of the registry": ("550 5.1.2 Bad destination system address", _R.DOMAIN_UNKNOWN),
    "rate, per hour": ("554 5.2.122 too much: 30 messages per hour", _R.RATE_LIMITED),
    "rate, at once": ("421 4.3.2 The number of concurrent connections exceeded a limit", _R.RATE_LIMITED),
    "rate, of failures": ("550 the domain exceeded its max of failures per hour", _R.RATE_LIMITED),
    "rate, of threads": ("432 4.3.2 recipient thread limit exceeded", _R.RATE_LIMITED),
    "rate, of credits": ("451 your credits exceeded what was paid: authentication failed", _R.RATE_LIMITED),
    "rate, of those unknown in all": ("550 5.7.1 a large share of unknown users comes from that account", _R.RATE_LIMITED),
    "rate, of those unknown": ("421 4.7.0 Too many unknown users from there", _R.RATE_LIMITED),
    "relay, abroad": ("550 Mailing to remote domains not supported", _R.RELAYING_DENIED),
    "relay, denied by a host": ("553 this host denies relaying", _R.RELAYING_DENIED),
    "relay, of a list": ("553 your domain isn't in our list", _R.RELAYING_DENIED),
    "papers, before what forbids it": ("550 prohibited by SPF", _R.SENDER_UNAUTHENTICATED),
    "us, who is denied": ("553 the host denies the sender", _R.SENDER_REFUSED),
    "us, on a list of spam": ("550 refused for a spam list", _R.SENDER_REFUSED),
    "us, complained of": ("554 too many complaints: spam complaints", _R.SENDER_REFUSED),
    "us, our From": ("550 From domain does not resolve", _R.SENDER_REFUSED),
    "us, our From, otherwise": ("451 the from domain must resolve", _R.SENDER_REFUSED),
    "us, not among the chosen": ("421 4.7.0 this IP is not on the allow list of that domain", _R.SENDER_REFUSED),
    "us, not yet": ("451 192.0.2.7 is not yet authorized to deliver mail", _R.DOMAIN_TROUBLE),
    "us, our domain in the DNS": ("550 Domain may not exist or DNS check failed", _R.SENDER_REFUSED),
    "shut, since they left": ("550 5.7.1 The subscriber has opted out of it", _R.RECIPIENT_REFUSED),
    "shut to one": ("550 They are not accepting mail from list@y.example", _R.RECIPIENT_REFUSED),
    "full, and much is stored": ("550 They have too much mail stored", _R.RECIPIENT_MAILBOX_FULL),
    "mail, to whom": ("550 unqualified recipient address not allowed", _R.MESSAGE_MALFORMED),
    "shut out by her": ("550 Your mail was declined by the addressee", _R.RECIPIENT_REFUSED),
    "not wanted by her": ("554 5.7.1 the recipient really does not want it", _R.RECIPIENT_REFUSED),
    "shut, but for friends": ("550 the recipient only accepts mail from friends", _R.RECIPIENT_REFUSED),
    "mail, its form": ("552 MIME parts of invalid structure", _R.MESSAGE_MALFORMED),
    "mail, without a field": ("554 it has no Message-ID", _R.MESSAGE_MALFORMED),
    "mail, its size": ("552 the attachment is too long", _R.MESSAGE_TOO_BIG),
    "mail, by measure": ("552 it exceeds what we take: 20480 kb", _R.MESSAGE_TOO_BIG),
    "mail, its score": ("550 score 12.8 too high", _R.MESSAGE_SPAM),
    "mail, to catch passwords": ("550 Phish found", _R.MESSAGE_VIRUS),
    "mail, something in it": ("554 Files with macros are not accepted", _R.MESSAGE_REFUSED),
    "no domain, the recipient's": ("550 the recipient domain x.example could not be found", _R.DOMAIN_UNKNOWN),
    "shut out by her list": ("550 it is on the recipient's own block list", _R.RECIPIENT_REFUSED),
    "shut, she accepts none": ("550 the user doesn't accept messages from elsewhere", _R.RECIPIENT_REFUSED),
    "us, not allowed to": ("550 you are not authorised to write", _R.SENDER_REFUSED),
    "us, denied": ("550 access denied for sending hosts, denied for the host", _R.SENDER_REFUSED),
    "rate, of connects": ("450 too frequent connects from there", _R.RATE_LIMITED),
    "full, by a limit": ("550 mailbox limit exceeded", _R.RECIPIENT_MAILBOX_FULL),
    "no domain, its hosts": ("550 all records name nonexistent hosts", _R.DOMAIN_UNKNOWN),
    "us, called back": ("550 the account or domain may not exist. Sender verify failed", _R.SENDER_REFUSED),
    "shut, but for a list": ("550 5.7.1 RESOLVER.RST.RestrictedToSome; not you", _R.RECIPIENT_REFUSED),
    "no domain, no host for it": ("550 no usable MX", _R.DOMAIN_NO_MAIL),
    "relay": ("550 Relay is disabled", _R.RELAYING_DENIED),
    "papers": ("550 rejected for SPF: it may not send for the domain's owner", _R.SENDER_UNAUTHENTICATED),
    "us, our address": ("550 the IP 192.0.2.1 is listed", _R.SENDER_REFUSED),
    "us, our country": ("550 No mail from your country", _R.SENDER_REFUSED),
    "us, a sender": ("550 Fake sender", _R.SENDER_REFUSED),
    "us, by number": ("550 5.7.750 Service unavailable. Come back.", _R.SENDER_REFUSED),
    "a server, its directory": ("451 4.3.0 the directory is offline", _R.DOMAIN_TROUBLE),
    "a server, in trouble": ("451 trouble in the house", _R.DOMAIN_TROUBLE),
    "a server, its load": ("451 load is too high", _R.DOMAIN_TROUBLE),
    "a server, its secrets": ("450 TLS handshake failed", _R.DOMAIN_TROUBLE),
    "a server, under repair": ("450 the backend system is under maintenance", _R.DOMAIN_TROUBLE),
    "a policy": ("550 restricted by policy", _R.MESSAGE_REFUSED),
    "a kind of file": ("550 Disallowed attachment type", _R.MESSAGE_REFUSED),
    "refused, without why": ("550 That recipient is not permitted", _R.RECIPIENT_REFUSED),
}  # fmt: skip

# What is said of us, of the mail and of servers in other languages.
TONGUES = {
    "rate, fr": ("421 Trop de messages reçus", _R.RATE_LIMITED),
    "rate, pt": ("450 Limite de envio: mensagens por hora", _R.RATE_LIMITED),
    "rate, zh": ("550 发送频率受限", _R.RATE_LIMITED),
    "us, de": ("554 Die IP-Adresse 192.0.2.1 wurde von uns gesperrt", _R.SENDER_REFUSED),
    "us, es": ("550 está en una lista negra", _R.SENDER_REFUSED),
    "us, ru": ("550 отправитель отклонен", _R.SENDER_REFUSED),
    "us, zh": ("550 发件人被拒绝", _R.SENDER_REFUSED),
    "our domain, fr": ("553 expéditeur inconnu", _R.SENDER_REFUSED),
    "relay, de": ("550 Eine Weiterleitung nicht erlaubt", _R.RELAYING_DENIED),
    "spam, fr": ("550 courriel indésirable", _R.MESSAGE_SPAM),
    "spam, ru": ("550 принято за спам", _R.MESSAGE_SPAM),
    "spam, ja": ("550 迷惑メールと判定", _R.MESSAGE_SPAM),
    "harm, ru": ("550 найден вирус", _R.MESSAGE_VIRUS),
    "harm, zh": ("550 含有病毒", _R.MESSAGE_VIRUS),
    "nobody, de": ("550 Den gibt es bei uns nicht", _R.RECIPIENT_UNKNOWN),
    "nobody, pl": ("550 Nie ma takiej skrzynki, nie ma konta", _R.RECIPIENT_UNKNOWN),
    "nobody, zh": ("550 查无此用户", _R.RECIPIENT_UNKNOWN),
    "off, zh": ("550 账号已被停用", _R.RECIPIENT_DISABLED),
    "full, zh": ("552 收件人邮箱空间不足", _R.RECIPIENT_MAILBOX_FULL),
    "size, es": ("552 El mensaje supera lo permitido", _R.MESSAGE_TOO_BIG),
    "size, zh": ("552 邮件太大", _R.MESSAGE_TOO_BIG),
    "refused, it": ("550 destinatario rifiutato", _R.RECIPIENT_REFUSED),
    "later, fr": ("451 temporairement en panne", _R.DOMAIN_TROUBLE),
    "later, ja": ("451 一時的な障害", _R.DOMAIN_TROUBLE),
    "a policy, nl": ("550 tegen ons beleid", _R.MESSAGE_REFUSED),
}  # fmt: skip

# What must never end an address, though it speaks of somebody who is unknown.
ABOUT_US = {
    "our password": "535 5.7.8 authentication failed: invalid user name",
    "our account": "550 5.7.1 Your account does not exist",
    "our address, called back": "550 5.1.1 cannot verify your address: mailbox does not exist",
    "a sender's address": "550 5.1.1 The sender address is unknown to the recipient's server",
    "a sender by role": "550 5.7.1 Sender user unknown, cannot send a bounce to you",
    "our From": "550 5.1.1 From address invalid: no such user",
    "an originator": "550 5.7.1 The originator address is invalid",
    "our header": "550 5.5.2 Missing or invalid addresses in To: header field",
    "our numbers": "550 5.7.1 too many invalid recipients in this session",
    "our host": "554 5.7.1 Host unknown to us: reverse DNS not found for your address",
    "their directory": "550 5.1.1 User lookup failed: directory not found",
    "a call that is under way": "550 5.1.1 Recipient address rejected: unverified address: user not found yet",
    "whatever RFC 5321 says first": "550 Requested action not taken: mailbox unavailable. Reject due to policy restrictions",
    "our sending": "550 5.1.1 sending from this account is disabled: no such user",
    "our domain, in French": "550 5.1.1 domaine de l'expéditeur inconnu: utilisateur inconnu",
    "our address, in Chinese": "550 5.1.1 发件人地址不存在",
    "a list of ours": "550 5.7.1 the IP 192.0.2.1 is listed: user unknown",
    "a score": "550 5.7.1 spam score of 9 points: no such user",
    "a domain": "550 5.1.1 the recipient domain x.example could not be found: no such user",
    "a full one": "550 5.2.2 Invalid address: no room for it",
    "after the content": "550 5.7.1 no such user (in reply to end of DATA command)",
    "many at once": "550 5.7.1 Unknown users among those you write to",
    "many at once, who do not exist": "550 5.7.1 most of the addresses that you write to, addresses that do not exist",
    "one or more of many": "550 5.7.1 one or more recipients: no way to find them",
    "what the recipient wants": "550 5.7.1 The recipient has blocked you: user unknown",
}  # fmt: skip


def sense_of(words: str, around: str = "") -> Sense:
    """What it comes to when it is said of RCPT, its status and code as they stand there."""
    code = int(words[:3])
    status = next((one for one in words.split() if one.count(".") == 2 and one[0] in "45"), None)
    said = words if "in reply to" in words else f"{words} (in reply to RCPT TO command)"
    return make_sense(Said("failed", status, code, said, around))


@pytest.mark.parametrize("case", FAMILIES)
def test_a_wording_that_no_table_lists_is_read_by_its_family(case: str) -> None:
    words, reason = FAMILIES[case]
    assert sense_of(words).reason is reason


@pytest.mark.parametrize("case", TONGUES)
def test_what_is_said_of_us_and_of_mail_is_read_in_other_languages(case: str) -> None:
    words, reason = TONGUES[case]
    assert sense_of(words).reason is reason


@pytest.mark.parametrize("case", ABOUT_US)
def test_what_speaks_of_us_never_ends_an_address(case: str) -> None:
    assert sense_of(ABOUT_US[case]).suppression is None


@given(
    st.sampled_from(["number", "rate", "percentage", "share", "proportion"]),
    st.sampled_from(["invalid", "unknown", "bad", "nonexistent", "non-existing"]),
    st.sampled_from(["recipients", "users", "addresses", "mailboxes", "accounts"]),
    st.sampled_from(["550", "550 5.7.1", "554 5.1.1", "550 5.5.0"]),
)
def test_how_many_are_unknown_is_said_of_us_and_of_no_recipient(
    count: str, unknown: str, many: str, code: str
) -> None:
    said = sense_of(f"{code} too high a {count} of {unknown} {many} was seen")
    assert (said.reason, said.suppression) == (_R.RATE_LIMITED, None)


def test_an_address_of_the_network_in_a_link_is_not_said_of_us() -> None:
    said = "554 Reject due to a policy there; see https://x.example/why?i=ip&v=192.0.2.7"
    assert make_sense(Said("failed", "5.0.0", 554, said)).reason is _R.MESSAGE_REFUSED


# Where a server names the address, and no noun.
NAMED = {
    "is not known": ("550 5.1.1 <a@x.example> is not known here", _R.RECIPIENT_UNKNOWN),
    "has no account": ("550 5.1.1 I'm sorry but a@x.example does not have an account", _R.RECIPIENT_UNKNOWN),
    "is switched off": ("550 <a@x.example> is a deactivated one", _R.RECIPIENT_DISABLED),
    "joined to what is said": ("550 5.1.1 a@x.example:user not exist", _R.RECIPIENT_UNKNOWN),
    "another's": ("550 5.7.1 b@y.example is not known here", _R.MESSAGE_REFUSED),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMED)
def test_a_recipients_address_stands_for_the_noun(case: str) -> None:
    words, reason = NAMED[case]
    status = next((one for one in words.split() if one.count(".") == 2), None)
    assert make_sense(Said("failed", status, 550, words, "", "A@x.example")).reason is reason


FRAMES = {
    "qmail": "192.0.2.7 does not like recipient.\nRemote host said: 550 5.1.1 unknown\nGiving up on 192.0.2.7.",
    "a scanner's lines": "550 5.1.1 unknown\nThis message was checked by the antivirus of mx.example",
    "Gmail": "it was rejected by the recipient domain. The error that the other server returned was: 550 5.1.1 unknown",
    "Exim": "SMTP error from remote mail server after RCPT TO:<a@x.example>: host mx.x.example [192.0.2.7]: 550 5.1.1 unknown",
    "what reports are called": "Undelivered Mail Returned to Sender: 550 5.1.1 it is not allowed: unknown user",
}


@pytest.mark.parametrize("frame", FRAMES)
def test_what_a_report_says_of_itself_is_no_reason(frame: str) -> None:
    said = Said("failed", "5.1.1", 550, FRAMES[frame])
    assert make_sense(said).reason is _R.RECIPIENT_UNKNOWN


HOSTILE = {
    "nouns": "user ",
    "long words": "mailbox " + "x" * 39 + " ",
    "two halves that never meet": "number of messages a b c d ",
    "what is ours": "sender address ",
    "scanners": "scanned by " + "a" * 60,
    "the many": "unknown users unknown ",
    "fillings": "unknown the this that of ",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_of_endless_words_only_the_first_are_looked_at(case: str) -> None:
    endless = HOSTILE[case] * 20_000
    assert find_reason(plain_words(endless)) is find_reason(plain_words(endless[:WORDS_MOST]))
    late = f"{'x ' * WORDS_MOST}{HOSTILE[case]} user unknown"
    assert find_reason(plain_words(late)) is None
