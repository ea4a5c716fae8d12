"""Who a received message is from: SPF, DKIM, DMARC and what trusted servers say (docs/decisions/0014)."""
