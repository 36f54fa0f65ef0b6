#!/bin/sh
# Test the site on the newest Django, in an environment of its own. Django 6 needs Python 3.12 or newer.
# Usage: sh tools/test-django6.sh FOLDER [PYTEST OPTIONS…]; the variable PYTHON names the interpreter.
set -eu
venv=${1:?usage: tools/test-django6.sh FOLDER}
shift
python=
for candidate in ${PYTHON:-} python3.13 python3.12 python3; do
    if "$candidate" -c 'import sys; raise SystemExit(sys.version_info < (3, 12))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "Django 6 needs Python 3.12 or newer, and none was found; name one: make test-django6 PYTHON=…" >&2
    exit 1
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv
# The lock has Django 5.2 for older interpreters and Django 6 for this one.
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --require-hashes -r requirements.lock
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation --editable .
"$venv/bin/python" -c 'import django; assert django.VERSION >= (6,), django.VERSION; print("Django", django.__version__)'
exec "$venv/bin/python" -m pytest --numprocesses=auto "$@" tests/server
