#!/bin/sh
# Make the virtual environment: a Python of 3.11 or newer, the locked dependencies, and this package, editable.
# Called by make; needs the network once, and nothing installed by hand.
set -eu
venv=${1:?usage: tools/install.sh FOLDER}

new_enough='import sys; raise SystemExit(sys.version_info < (3, 11))'
python=
for candidate in python3 python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null 2>&1 && "$candidate" -c "$new_enough" 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "isocenter needs Python 3.11 or newer; none was found (python3 is $(python3 --version 2>&1 || echo absent))." >&2
    exit 1
fi

# Debian and Ubuntu ship the venv module without what it needs; the package python3-venv completes it.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root='sudo -n'
    echo "Installing python3-venv, which Debian's python3 lacks ..."
    if ! { $as_root apt-get update -qq && $as_root apt-get install -qq -y --no-install-recommends python3-venv; }; then
        echo "Please install it yourself and run make again: sudo apt-get install python3-venv" >&2
        exit 1
    fi
fi

echo "Creating $venv with $("$python" --version) ..."
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
echo "Installing the locked dependencies ..."
# uv takes seconds where pip takes minutes; pip remains for machines where uv cannot be had or finds no index.
if "$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv &&
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --compile-bytecode --require-hashes -r requirements.lock
then :; else
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
# Where the environment forbids Python to write bytecode, every start would compile the package anew: 0.2 s.
"$venv/bin/python" -m compileall -q src
