"""`postroom-sendmail`: what cron, PHP and mail programs call as /usr/sbin/sendmail."""
