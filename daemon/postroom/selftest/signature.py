"""A mail that was signed once, by a domain that exists only here, and the key that its nameserver shows (RFC 6376).

The private key was thrown away: nothing is ever signed by the selftest.
"""

from typing import Final


SIGNED_FOR: Final = "signed"  # the mailbox that it is for
WORDS: Final = "It is 100 EUR, as agreed."
OTHER_WORDS: Final = "It is 900 EUR, as agreed."

_KEY: Final = (
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuHzjSQH5s4DMteHS0+hLFSrzhRMkJGJ2cugUbZLnYfv/ZoR+/Xad"
    "oDffsdDBYh3GwbWHViwmiZWqyzjvBTnP5GAwhFmyxR7tgpGyV3XOpx6msgfYjwEnIoAP7mc8mOqkAaUlzOoCDYeFetegtgfS"
    "ATPB2x5j/leVOL3hZwuN8wBd+pZzB18BVDs57O8AY+PrkVCHtSmCEBzpCnvq0E4cy7K108OMSO3oc9mvlrFPw8IuEe0R2GTE"
    "4S7Q1Mt+LF1JxpF35D87xtVNwpe9cUAnkPGO3LIcBVA6CRW3T9r0iKnxzHNxLSJH3Ab08W47SBijo36C+bhtra3o3v+xHTZm"
    "CQIDAQAB"
)
TEXTS: Final = {"s1._domainkey.signed.example": f"v=DKIM1; k=rsa; p={_KEY}"}
MAIL: Final = f"""\
DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=signed.example;
 i=@signed.example; q=dns/txt; s=s1; t=1704067200; h=from : to :
 subject : date : message-id;
 bh=56oNts0wAadnuvL/oJbUh1mkotbWbFoVR6UZfAxoJ3g=;
 b=Li2scDYDBnxyDS2NdcduALQ1ivt7lRucvebRUbKPMaYaPGLRAF6MYx2/fzoqIEEZQOZk+
 vJcPbLCHxXC7ZAcA9qt3y2nrbc7hAelWsZV9ewOtjCGk0v+5yyeH0/zeFSDVPTwLM/gD4Bk
 7hPr5JKBDKkj9Dp5oCV5H/SFk24n7pvH/K0RynRmfnAvvCJ85shUq7sLpfaXdxyuiEIv7Eg
 DQH6xom5hXA3jALDGH6k2frm6bBiqebBrT0En/l90u9w8QtYV7kzVrI+rPRVUYOPQZjzbQo
 ASe9KRaGL5w1mEhvU3LRCZThhlh9WLkHhTNNuou8z+GYrbgPTlTxZ63QCd8Q==
From: Ann <ann@signed.example>
To: signed@example.com
Subject: Please pay the invoice
Date: Mon, 30 Nov 2026 09:00:00 +0000
Message-ID: <invoice-1@signed.example>

{WORDS}
"""
