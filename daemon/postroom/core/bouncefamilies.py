"""Families of words by which reports say why: what is spoken of, and what is said of it, a few words apart.

`core.bouncewords` has the sentences that are known; these hold in every other wording of the same, in many languages.
They are looked for in plain words (`core.bounceplain`) without punctuation inside a sentence; `@` is the recipient's address. What speaks of us (our
address, our host, the sender's account) is taken out first, and what is said of several recipients: it must never be read as said of this one.
Every expression is bounded: at most four words lie between its two parts, so it is linear in the text.
"""

import re
from dataclasses import dataclass
from typing import Final

from postroom.core.bouncereason import BounceReason


@dataclass(frozen=True, slots=True)
class Family:
    """What holds where `pattern` is found."""

    id: str
    reason: BounceReason
    pattern: re.Pattern[str]


_R = BounceReason

_APART: Final = re.compile(r"[_:,()/\"*\[\]{}|\u201c\u201d\u00ab\u00bb<>=-]+")
_OF_US: Final = re.compile(
    r"(?<!\w)(?:senders?(?:'s)?|sending|senderaddress|from|return|originat\w{1,6}|your|our|ip|host|network|client|smtp auth\w{0,10}|(?:message|mail|email) sender)"
    r" (?:e ?mails? |mail |smtp |sending |user )?(?:address(?:es)?|accounts?|users?|mailbox(?:es)?|e ?mail|konto|cuenta|adresse?)(?!\w)"
)

WORD: Final = r"[^ ]{0,39}[^ .;!?]"
GAP: Final = rf"(?: {WORD}){{0,4}} "
_VERB: Final = (
    r"(?:(?:is|was|has|have|been|does|did|could|can|you sent to|currently|now|the|an?) ){1,3}"
)
_FILL: Final = (
    r"(?:(?:the|this|that|a|an|or|of|for|local|final|destination|recipient'?s?|target|remote|intended|specified|such|smtp"
    r"|mail|e|email|e-mail|virtual|disabled|unknown|mailbox|user|to) ){0,3}"
)
_WHO: Final = (
    r"(?:users?|user ?names?|userids?|mail ?drops?|recipients?|rcpt|mail ?box(?:es)?|accounts?|addressee|address(?:es)?|e ?mails?|customers?|subscribers?|login|alias|inbox|rcptto"
    r"|box|person|individual|member|employee|part|username|id|destination|mailhost"
    r"|usu[aá]rios?|destinat[aá]rios?|direcci[oó]n|cuenta|casilla|buz[oó]n|endere[cç]o|conta|caixa"
    r"|utilisateur|destinataires?|adresses?|compte|bo[iî]te|utenti?|indirizzo|casella|account"
    r"|empf[aä]e?ngers?|empfaengers?|benutzers?|nutzers?|postfach\w{0,8}|konto|mailadresse|e ?mailadresse|teilnehmer"
    r"|gebruiker|ontvanger|adres|mottagare\w{0,3}|anv[aä]ndare\w{0,3}|modtager\w{0,3}|bruger\w{0,3}|mottaker\w{0,3}|bruker\w{0,3}|adressen"
    r"|vastaanottaja\w{0,3}|k[aä]ytt[aä]j[aä]\w{0,3}|odbiorc[ay]|adresat\w{0,2}|u[zż]ytkownik\w{0,2}|skrzynka|p[rř][ií]jemce|u[zž]ivatel|schr[aá]nka|adresa"
    r"|c[ií]mzett|felhaszn[aá]l[oó]|postafi[oó]k|kullan[ıi]c[ıi]|al[ıi]c[ıi]|hesap|utilizator\w{0,3}"
    r"|пользовател\w{1,3}|получател\w{1,3}|ящик\w{0,2}|адресат\w{0,2}|адрес\w{0,2}|користувач\w{0,2}|скринька)"
)
_GONE: Final = (
    r"(?:unknown|unknow|not known|no exists?|not exists?|(?:do|does|did)(?:n't|nt) exists?|non ?exist\w{0,6}|not found|n[o']t be found|can(?:not|'t) be found|couldn't be found|cannot find"
    r"|invalid|not valid|not a valid|not an? (?:active|known|existing|local)|isn't valid|incorrectly addressed|no longer (?:an? |our )?(?:employee|member|customer|user|valid|exists?|here|with|works?|employed|at|on)|not registered|unregistered"
    r"|not recogni[sz]ed|unrecogni[sz]ed|not listed|unlisted|unallocated|not allocated|undeliverable|undefined|not defined|not here|not available|does not live"
    r"|(?:been|was|is) (?:deleted|removed)|has left|incorrect|misspelled|marked as invalid|not (?:in|on) (?:the |our |my |a )?(?:recipients?|users?|route|address|local|valid|list|directory|database)|no such|doesn't have an?|does not have an?"
    r"|desconocid[oa]|desconhecid[oa]|inexist\w{1,6}|no existe|n[aã]o existe|n[aã]o encontrad[oa]|no encontrad[oa]|inv[aá]lid[oa]|no v[aá]lid[oa]|inconnue?s?|invalide|n'existe|introuvable"
    r"|sconosciut[oa]|inesistente|non esiste|non valid[oa]|non trovat[oa]|unbekannt|nicht bekannt|existiert nicht|nicht gefunden|nicht vorhanden|ung[uü]e?ltig|nicht existent"
    r"|onbekend|bestaat niet|ok[aä]nd|finns inte|ukendt|findes ikke|eksisterer ikke|ukjent|finnes ikke|tuntematon|ei ole olemassa|nieznan[ya]|nie istnieje|nie znaleziono"
    r"|nezn[aá]m[ya]|neexistuje|nenalezena?|ismeretlen|nem l[eé]tezik|bilinmiyor|bulunamad[ıi]|mevcut de[gğ]il|inexistent|nu exist[aă]"
    r"|неизвест\w{1,4}|не существует|не найден\w?|недействител\w{1,4}|не зарегистрирован|не існує|не знайдено)"
)
_NO: Final = (
    r"(?:no such|unknown|invalid|non ?exist\w{2,6}|unrecogni[sz]ed|not a valid|not an? (?:existing|known|active)|isn't a valid|no valid|no known|undeliverable|unallocated"
    r"|illegal|incorrect|wrong|undefined|unavailable|no active|(?:do|does)(?:n't| not) exists? (?:that|such|this)|there is no|there's no|have no|no existe (?:el|la)|onbekende|unbekannter?|ung[uü]e?ltiger?|ok[aä]nd|nieznany"
    r"|несуществующий|неизвестный|неверный)"
)
_MANY: Final = r"(?:recipients|rcpts|users|addresses|mail ?boxes|accounts)"
_OF_MANY: Final = re.compile(
    rf"(?<!\w)(?:{_NO} (?:{WORD} )?{_MANY}|{_MANY} (?:(?:that|who|which) )?(?:(?:are|were|have been) {_GONE}|(?:do|did)(?:n't| not) exist)"
    rf"|one or more (?:of )?(?:the |your )?{_MANY})(?!\w)"
)
_OFF: Final = (
    r"(?:disabled?|suspended|inactive|deactivated|de activated|blocked|locked(?: out)?|frozen|expired|closed|terminated|not (?:been )?activated?|not active|not enabled|dormant|on hold|banned|awaiting (?:activation|confirmation)|pending activation|cancell?ed|hibernated"
    r"|due to inactivity|temporarily unavailable|restricted|discontinued|suspendid[oa]|inactiv[oa]|desactivad[oa]|desativad[oa]|bloquead[oa]|expirad[oa]|vencid[oa]|cancelad[oa]|d[eé]sactiv[eé]e?|suspendue?|bloqu[eé]e?|ferm[eé]e?"
    r"|disabilitat[oa]|disattivat[oa]|sospes[oa]|bloccat[oa]|gesperrt|deaktiviert|inaktiv|abgelaufen|geblokkeerd|sp[aä]rrad|zablokowan[ea]|nieaktywn[ea]|zawieszon[ea]"
    r"|заблокирован\w?|отключ\w{1,5}|неактив\w{1,4}|приостановлен\w?)"
)
_STORE: Final = (
    r"(?:mail ?box(?:es)?|inbox|mail ?dir|accounts?|users?|user's|recipients?|recipient's|quota|storage|dis[kc]|space|folder|box|mail ?drop|postfach|postfachs?|speicher\w{0,9}"
    r"|bo[iî]te|buz[oó]n|casilla|cuota|casella|caixa|cota|skrzynka|schr[aá]nka|postafi[oó]k|postkasse\w{0,3}|postlåda\w{0,3}|brevl[aå]da\w{0,3}|ящик\w{0,2}|квота)"
)
_FILLED: Final = (
    r"(?:full|over ?quota|reached (?:(?:its|their|the|his) )?(?:(?:dis[kc]|mailbox|storage) )?(?:quota|limit)|quota (?:is )?(?:exceeded|full|reached)|over (?:its|their|the|his|allowed|storage|dis[kc]) (?:quota|limit|storage|space)|out of (?:storage|space|dis[kc]|quota)"
    r"|exceed\w{0,3} (?:its|their|the|his|allowed|storage|dis[kc]|mailbox|maximum)? ?(?:quota|storage|space|dis[kc]|mailbox|capacity|allocation)|exhausted|overdrawn|exceeded|exceed"
    r"|not enough (?:space|room|storage)|no (?:more |free |room or )?(?:space|room)|(?:cannot|can't|can not) (?:take|hold|accept|store) any ?more|insufficient|[uü]berschritten|voll|pleine?|satur[eé]e?|d[eé]pass[eé]e?|llen[oa]|excedid[oa]|agotad[oa]|superad[oa]|pien[oa]|superat[oa]|chei[oa]|lotad[oa]|pe[lł]na|pln[aáeéyý]"
    r"|p[rř]epln[eě]na|megtelt|fullt?|fuld|переполнен\w?|превышен\w?)"
)
_UNITS: Final = r"(?:connect(?:ion)?s?|sessions?|messages?|mails?|e ?mails?|recipients?|attempts|rcpts|errors|requests|commands|threads|senders?|users)"


def family(family_id: str, reason: BounceReason, *patterns: str) -> Family:
    """What holds where one of the patterns is found, at the edges of words."""
    joined = "|".join(f"(?:{one})" for one in patterns)
    return Family(family_id, reason, re.compile(rf"(?<!\w)(?:{joined})(?!\w)"))


# Whom the recipient has shut out: before whatever the words for that mean elsewhere.
WISHES: Final = (
    family("they have shut us out", _R.RECIPIENT_REFUSED, r"(?:blocked|rejected|refused|blacklisted|blocklisted|denied|declined|banned) by (?:the |this |your |their )?(?:addressee|recipient|mailbox owner|owner|subscriber)(?!'s)",
        r"(?:recipient|addressee|user|owner|customer) has (?:\w{1,12} )?(?:blocked|blacklisted|blocklisted|banned|refused|rejected) (?:you|your|the sender|this sender|mail|messages|e ?mail)",
        r"(?:recipient|addressee|subscriber|owner) has (?:\w{1,12} )?(?:unsubscribed|opted out)",
        r"(?:recipient|addressee|user|owner) (?:does not|doesn't|will not|won't|refuses to) accept (?:e ?mails?|mails?|messages?) from", r"(?:recipient|user|addressee|personal)(?:'s)? (?:\w{1,12} ){0,2}(?:block|black) ?list",
        r"(?:recipient|addressee|user|owner|customer) (?:is |currently |temporarily ){1,3}not accepting",
        r"(?:recipient|addressee|user|owner|customer)(?: \w{1,14}){0,2} (?:not|doesn't) want (?:your|this|any)", r"envelope blocked user",
        r"they are not accepting (?:e ?mail|mail|messages) from"),
)  # fmt: skip
# Before anybody is called unknown: it is the domain that is not there.
DOMAINS: Final = (
    family("no such domain", _R.DOMAIN_UNKNOWN, rf"domains?(?: name)?(?: [^ ]{{1,80}}\.[^ ]{{1,40}})?(?: (?:is|was|does|could|can))? {_GONE}"),
)  # fmt: skip
# What is about us is looked for before anything about the recipient.
RATES: Final = (
    family(
        "too many at once",
        _R.RATE_LIMITED,
        rf"too (?:many|much|frequent)(?! hops)(?: {WORD}){{0,2}} {_UNITS}",
        rf"(?:messages?|mails?|e ?mails?|connections?|recipients?)(?: {WORD}){{0,3}} (?:per|an|each|within an?) (?:hour|minute|day|second|connection|session)",
        rf"(?:number|rate|volume) of (?:\w{{1,12}} ){{0,3}}{_UNITS}(?! (?:in|on) )(?: {WORD}){{0,6}} (?:exceed\w{{0,3}}|limit\w{{0,3}}|reached|over)",
        r"(?:rate|frequency|connections?|concurrency|hourly|sending|relay|velocity|thread|session|delivery|tenant|message count)(?: limit| quota)(?:ed|s)?",
        rf"(?:exceed\w{{0,3}}|limit\w{{0,3}}|max\w{{0,5}}|too)(?: {WORD}){{0,6}} (?:per|in an?|in one|within an?) (?:\d{{1,3}} )?(?:hour|minute|day|second|connection|session)s?",
        r"(?:excessive|too many) (?:\w{1,12} )?(?:unknowns?|invalid|bad|non ?exist\w{2,6})(?: \w{1,12})?",
        rf"(?:numbers?|rate|percentage|proportion|share|amount|many) of (?:{WORD} )?(?:unknown|invalid|bad|non ?exist\w{{2,6}}) {_MANY}",
        r"recipients? limit|unusual (?:rate|sending activity)",
        rf"(?:sent|sending|send|receiving)(?: {WORD}){{0,4}} too (?:many|much|fast|quickly|often)",
        r"excessive (?:volume|rate|number|connections)",
        rf"exceed\w{{0,3}}(?: {WORD}){{0,3}} number of {_UNITS}",
    ),
)
PAPERS: Final = (
    family(
        "our papers",
        _R.SENDER_UNAUTHENTICATED,
        "spf",
        "dkim",
        "dmarc",
        r"anti ?spoof\w{0,4}",
        "spoofed",
        r"domain ?keys?",
    ),
    family(
        "our name on a list",
        _R.SENDER_REFUSED,
        r"(?:spam|user|abuse|many) complaints|you are not (?:allowed|authori[sz]ed|permitted)",
        r"denied (?:for|to|from) (?:the |this |your )?(?:sending|sender|client|remote|host|ip|server)",
        r"spam (?:list|source|sender|host|network|server)s?|spammers?",
        r"send(?:ing|er) (?:e ?mail )?address not accepted",
        rf"(?:ip|ip address|host|server)(?: {WORD}){{0,3}} (?:is |was |are )?(?:black|block|deny)?(?:listed|list)(?: {WORD})?",
    ),
)
US: Final = (
    family(
        "a server does not forward for us",
        _R.RELAYING_DENIED,
        r"(?:mails?|mailing|delivery|sending|forwarding)(?: mail| messages)? to (?:remote|external|outside|other|foreign) (?:domains?|hosts?|addresses|systems|networks) (?:is |are )?(?:not|disabled|denied|forbidden)",
        r"relay\w{0,3}(?: access)?(?: is)? (?:denied|disabled|prohibited|not|forbidden|refused|disallowed|rejected)",
        r"(?:required|needed|necessary|must authenticate) (?:for|to) relay\w{0,3}",
        r"domain (?:isn't|is not|not) in (?:my|our|the) list",
        r"not (?:responsible|authoritative) for (?:that|this|the) (?:domain|address|recipient)",
        r"(?:den(?:y|ies|ied)|refus\w{1,3}|reject\w{0,3}|forbid\w{0,5}) (?:to |the |this |your )?relay\w{0,3}",
    ),
    family(
        "our host or address",
        _R.SENDER_REFUSED,
        rf"(?:senders?|envelope sender|mail ?from|sender domain|sending (?:domain|host|server|ip|address|mta)|(?:remote|source|client|sending|your|the) ip(?: address)?|ip(?: address)?|(?:remote|client) host"
        rf"|your (?:domain|server|host|network|mail server|smtp server|e ?mail address)|that domain|helo|ehlo)(?: {WORD}){{0,3}}"
        r" (?:is |was |are |has been )?(?:rejected|refused|block\w{0,4}|banned|forbidden|denied|not allowed|not welcome|not permitted|not accepted|not authori[sz]ed|not in my|not (?:in|on) (?:the |our |a )?(?:white|allow) ?list|listed|fake|invalid|unresolvable"
        r"|resolve fail|not resolve|not exist|has no|no valid|must exist|blacklisted|suspicious|unknown|not found)",
        rf"your (?:e ?mail )?(?:accounts?|address|mail ?box|user)(?: {WORD}){{0,3}} (?:{_GONE}|{_OFF})",
        r"verify your",
        r"mismatch\w{0,4} (?:\w{1,12} )?(?:ip|address|domain|host)",
        r"(?:fake|invalid|bad|rejected|blocked|banned|forbidden|unresolvable|null|unverified) (?:senders?|ip|helo|ehlo|host ?name|source)",
        r"you are (?:\w{1,12} )?(?:banned|blocked|listed|not authori[sz]ed|not permitted)",
        r"(?:mail|e ?mail|messages?|connections?) (?:originating )?from (?:that|this|your|the) (?:domain|host|server|ip|network|address|country)",
        r"(?:of|for) the sending domain",
        r"(?:ou|sc|dy) 00\d|ips(?: \w{1,12})? (?:blocked|banned|listed)|(?:blocked|refused|rejected|denied) (?:for|due to|because of) (?:spam|abuse)",
        r"from your (?:location|region|country|area|provider|isp)|you (?:don't|do not|are not|aren't) (?:have |allowed |permitted |authori[sz]ed )",
        rf"(?:header from|from header|from domain|from field)(?: {WORD}){{0,3}} (?:not resolve|must resolve|no mx|not exist|unresolvable)",
        r"(?:den(?:y|ies)|refus\w{1,3}|reject\w{0,3}|block\w{0,3}|bann?\w{0,3}) (?:by |the |this |your |all )?(?:senders?|ip|host|server|client|network|country|connections?)",
        rf"(?:sending|outgoing|outbound|submission)(?: {WORD}){{0,4}} (?:disabled|suspended|blocked|not allowed|denied|restricted)",
        r"blocked by \w{0,12}(?:ip|bl|rbl|sip)",
    ),
)
RECIPIENTS: Final = (
    family("their mailbox is full", _R.RECIPIENT_MAILBOX_FULL, rf"{_STORE}{GAP}{_FILLED}", rf"(?:full|over ?quota|exceeded) {_FILL}(?:mail ?box|inbox|quota)"),
    family("their account is off", _R.RECIPIENT_DISABLED, rf"{_WHO}{GAP}{_OFF}(?! (?:content|words?|attach|file|link|url|extension))", rf"(?<!to )@ {_VERB}(?:an? |the )?{_OFF}", rf"(?:inactive|disabled|suspended|deactivated|expired|locked|closed|dormant) {_FILL}{_WHO}", r"is (?:now |currently |temporarily )?(?:disabled|suspended|deactivated)", r"not (?:currently |now )?(?:being )?accepted for (?:this|that|the) (?:mail ?box|user|account|recipient)"),
    family("nobody of that name", _R.RECIPIENT_UNKNOWN, rf"{_WHO}{GAP}{_GONE}", rf"@ {_VERB}{_GONE}", r"@ (?:doesn't|does not) have an?", rf"{_NO} {_FILL}{_WHO}", rf"bad {_FILL}(?:recipients?|mailbox|destination)",
            r"not (?:an? )?(?:user|customer|member|account|mail ?box|address) (?:of|on|at|in|here)", r"no (?:users?|accounts?|mail ?box(?:es)?|recipients?) (?:here|by|with|found|of|named|called|at|on)", r"invalid local (?:name|part)",
            r"not exists?|not listed", rf"(?:unable to|cannot|can't|could not|couldn't|failed to) (?:find|locate|identify) {_FILL}{_WHO}", r"(?:no one|nobody|noone) (?:here|there|with|by|of|called|named|at|on|that)", rf"(?:doesn't|does not|don't|do not) handle mail for (?:that|this|the) {_WHO}"),
    family("they do not want it", _R.RECIPIENT_REFUSED, rf"(?:recipients?|users?|addressees?|customers?|owner)(?: {WORD}){{0,3}} (?:not want|doesn't want|not wish|refuses?|rejects?|declines?)",
            rf"(?:only|just) (?:accepts?|takes?|receives?|wants?|members)(?: {WORD}){{0,3}} (?:mails?|e ?mails?|messages?|from|may|can)", r"(?:a|user|personal|inbox|own|friend) rules?(?: that| which)? (?:rejects?|refuses?|blocks?)"),
    family("their domain takes none", _R.DOMAIN_NO_MAIL, r"no (?:valid |usable |working )(?:mx|mail exchangers?)(?: records?)?", rf"(?:domain|host)(?: {WORD}){{0,3}} (?:not|n't|never) (?:accept|receive|take)s? (?:any )?(?:e ?mail|mail|messages)"),
    family("no such domain", _R.DOMAIN_UNKNOWN, rf"(?:hosts?|host or domain name)(?: {WORD}){{0,2}} not found", r"non ?existent (?:hosts?|domains?)", rf"(?:domains?|host ?names?)(?: name| part)?(?: (?:is|was|does|could|can))? {_GONE}"),
)  # fmt: skip
MAILS: Final = (
    family(
        "it is not well formed",
        _R.MESSAGE_MALFORMED,
        rf"mime(?: {WORD}){{0,4}} (?:invalid|reject\w{{0,3}}|errors?|malformed|broken|corrupt\w{{0,2}}|structure|boundar\w{{1,3}}|missing)",
        rf"(?:no|missing|without|lacks|duplicate|multiple|more than one)(?: {WORD}){{0,2}} (?:message id|date|from|to|subject|sender)(?: headers?| fields?)",
        r"(?:no|missing|without|lacks|duplicate|multiple)(?: an?)? message id",
        r"(?:not|n't|non) ?(?:comply|compliant|conform\w{0,4})",
        rf"unqualified {_FILL}recipients?",
        rf"(?:invalid|malformed|broken|corrupt\w{{0,2}}|bad|illegal)(?: {WORD}){{0,2}} (?:mime|headers?|message format|structure)",
    ),
    family(
        "it is wanted by nobody",
        _R.MESSAGE_SPAM,
        r"(?:surbl|uribl|multi ?surbl)\w{0,12}|advertis\w{1,7}|promotional|junk|bulk",
        rf"(?:messages?|mails?|e ?mails?|content)(?: {WORD}){{0,3}} (?:scored?|scores|points)",
        rf"scored?(?: {WORD}){{0,3}} (?:high|above|over|exceed\w{{0,3}}|points)",
    ),
    family("it is harmful", _R.MESSAGE_VIRUS, r"phish\w{0,3}", r"scam|fraud\w{0,5}"),
    family(
        "something in it is not allowed",
        _R.MESSAGE_REFUSED,
        r"(?:inappropriate|improper|offensive|sensitive) (?:words?|content|language)",
        rf"(?:attachments?|files?|macros?|archives?|content|urls?|links?)(?: {WORD}){{0,5}} (?:not (?:accepted|allowed|permitted)|forbidden|disallowed|blocked|denied|rejected)",
    ),
    family(
        "it is too big",
        _R.MESSAGE_TOO_BIG,
        rf"(?:messages?|mails?|e ?mails?|attachments?|content|size|files?)(?: {WORD}){{0,4}} (?:too|very) (?:large|big|long)",
        r"(?:bigger|larger|greater|heavier) than|more than \d{1,12} ?(?:[km]i?b|bytes|mega\w{0,6})",
        r"exceed\w{0,3}(?: \S{1,20}){0,4} \d{1,9} ?(?:[km]i?b|bytes|mega\w{0,6})",
        rf"exceed\w{{0,3}}(?: {WORD}){{0,4}} size",
        rf"(?:size|length)(?: {WORD}){{0,6}} (?:exceed\w{{0,3}}|over|limit\w{{0,3}}|threshold)",
    ),
)
SERVERS: Final = (
    family(
        "their server is not well",
        _R.DOMAIN_TROUBLE,
        rf"(?:systems?|servers?|services?|backend|database|directory|resources?|queue|disk|lookup)(?: {WORD}){{0,3}}"
        r" (?:not available|unavailable|(?:too )?busy|down|overload\w{0,3}|offline|maintenance|failed|failure)",
        r"temporar(?:y|ily) (?:\w{1,12} )?(?:failure|error|problem|unavailable|busy|rejected|refused)",
        rf"(?:tls|ssl)(?: {WORD}){{0,5}} (?:failed|failure|errors?)|protocol error|unexpected (?:response|reply|answer)",
        r"(?:not|no) greet(?:ing)?|trouble (?:in|with|on)|config(?:uration)? (?:error|problem)|shutting down|shut down|interrupted",
        r"(?:try|retry)(?: it| again)? later|try again|(?:too )?busy|overloaded|too much load|recursi(?:on|ve)",
        rf"(?:load|queue|backlog)(?: {WORD}){{0,3}} (?:high|long|full|exceeded)",
        r"(?:action|transaction|delivery|processing)(?: \w{1,12})? (?:aborted|interrupted|postponed|deferred|suspended|delayed|timed out)",
    ),
)
REFUSALS: Final = (
    family(
        "refused without a word on why",
        _R.RECIPIENT_REFUSED,
        rf"{_WHO}{GAP}(?:denied|refused|rejected|not allowed|not permitted|not accepted|not ok|cannot be verified|not verified)",
        r"cannot deliver mail for",
        rf"(?:delivery|mails?|e ?mails?|messages?)(?: {WORD}){{0,3}} not (?:allowed|permitted|accepted) (?:to|for) (?:this|that|the) {_WHO}",
    ),
)
POLICIES: Final = (
    family("their policy", _R.MESSAGE_REFUSED, r"smtp auth\w{0,10}", r"registered users", r"(?:attach\w{0,6}|file) (?:types?|extensions?|names?)", r"in the same domain", r"(?:message|mail|e ?mail)(?: (?:is|was|has|been)){0,3} (?:not welcome|unwanted)", r"polic(?:y|ies)|guidelines|security (?:regulations|rules|reasons)|(?:invalid|unacceptable) content", rf"(?:message|mail|mail data|content)(?: {WORD}){{0,2}} (?:refused|reject(?:ed)?|denied)", r"content (?:\w{1,9} )?(?:denied|rejected|refused|blocked)", r"(?:banned|prohibited|forbidden) (?:\w{1,12} )?(?:content|words?|attachments?|files?)"),
)  # fmt: skip


def apart(words: str) -> str:
    """The words without punctuation inside sentences."""
    return " ".join(_APART.sub(" ", words).split())


def without_us(words: str) -> str:
    """The words without what is spoken of where it is ours."""
    return _OF_US.sub(" ~ ", words)


def without_many(words: str) -> str:
    """The words without what is said of several recipients at once: it is not said of this one."""
    return _OF_MANY.sub(" ~ ", words)


def find_family(families: tuple[Family, ...], words: str) -> BounceReason | None:
    """The reason of the first that holds in `words`, as `apart` gives them."""
    return next((one.reason for one in families if one.pattern.search(words)), None)
