#!/bin/sh
# Programs that tests need beside Python: Chromium to look at pages, pdftotext for print, PostgreSQL for the site. Those
# that are there, or Debian's. Without them their tests are skipped; in CI they fail.
set -eu
wanted=
have() { for name in "$@"; do if command -v "$name" >/dev/null 2>&1; then return 0; fi; done; return 1; }
have chromium chromium-browser google-chrome || wanted="$wanted chromium"
have pdftotext || wanted="$wanted poppler-utils"
have initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || wanted="$wanted postgresql"
[ -n "$wanted" ] || exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root='sudo -n'
echo "Installing$wanted, with which is tested ..."
# shellcheck disable=SC2086 -- several packages
if ! { $as_root apt-get update -qq && $as_root apt-get install -qq -y --no-install-recommends $wanted >/dev/null; }; then
    echo "They could not be installed; please do it yourself: sudo apt-get install$wanted" >&2
fi
