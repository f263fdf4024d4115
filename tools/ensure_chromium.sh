#!/bin/sh
# See that there is a Chromium to open reports with; as root on Debian, install it where there is none.
set -eu

for program in ${CHROMIUM:-chromium chromium-browser google-chrome}; do
    if command -v "$program" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ -z "${CHROMIUM:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
    exit 0
fi
echo "There is no Chromium to open reports with: apt-get install chromium, or name one in CHROMIUM." >&2
exit 1
