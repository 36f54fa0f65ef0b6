"""The settings of the site under test: a folder of its own, fast passwords, the database of `DATABASE_URL` if any."""

import os
import tempfile

os.environ.setdefault("ISOCENTER_DATA", tempfile.mkdtemp(prefix="isocenter-test-"))

from isocenter.server.settings import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_AUTOREFRESH = True
