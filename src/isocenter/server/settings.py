"""The settings of the site, all from the environment.

| variable | meaning | without it |
| --- | --- | --- |
| `ISOCENTER_DATA` | the folder of everything that is kept | `isocenter-data` |
| `ISOCENTER_URL` | the address of the site, `https://…` | this machine only, without https |
| `DATABASE_URL` | `postgres://user:password@host:port/name` | SQLite in the folder of data |
| `ISOCENTER_SECRET_KEY` | signs sessions and links; the same on all machines | made once, kept in the folder of data |
| `EMAIL_URL` | `smtp://user:password@host:port`, or `smtps://` | mails are kept, for staff to read |
| `ISOCENTER_MAIL_FROM` | the sender of mails | `isocenter@` and the host of the site |
| `ISOCENTER_PROXY` | the proxy whose `X-Forwarded-For` and `-Proto` are believed | 127.0.0.1 with https, else none |
| `ISOCENTER_MOST_UPLOAD_GB` | the largest file that is taken | 20 |
| `ISOCENTER_REQUIRE_MFA` | `yes` or `no`: a second factor for organisers and staff | yes, where the address is https |
| `ISOCENTER_LEASE` | for how many seconds a worker has a piece of work before another may take it | 60 |
| `ISOCENTER_SITE` | where a worker fetches the files that it lacks | they are in the folder of data |

An address that is https makes cookies secure and the second factor of organisers compulsory.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import django

from isocenter.server.environment import address, database, mail, number, secret_key, yes_or_no

HERE = Path(__file__).parent
DATA = Path(os.environ.get("ISOCENTER_DATA", "isocenter-data")).absolute()
URL = address("ISOCENTER_URL")
_AT = urlsplit(URL)
PUBLIC = _AT.scheme == "https"

DEBUG = False
SECRET_KEY = secret_key(DATA)
PROXY = os.environ.get("ISOCENTER_PROXY", "127.0.0.1" if PUBLIC else "")
LEASE = number("ISOCENTER_LEASE", 60)
SITE = address("ISOCENTER_SITE")
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", *filter(None, [_AT.hostname])]
CSRF_TRUSTED_ORIGINS = [f"{_AT.scheme}://{_AT.netloc}"] if URL else []

INSTALLED_APPS = [
    "isocenter.server",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django.forms",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "isocenter.server.security.ContentPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "isocenter.server.security.NoZeros",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "isocenter.server.security.SecondFactor",
    "isocenter.server.security.Zone",
]
ROOT_URLCONF = "isocenter.server.urls"
WSGI_APPLICATION = "isocenter.server.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "isocenter.server.context.site",
            ],
            "builtins": ["isocenter.server.templatetags.isocenter"],
        },
    },
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

DATABASES = {"default": database(os.environ.get("DATABASE_URL", ""), DATA)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},  # counts of requests must not be forgotten early
    }
}

AUTH_USER_MODEL = "site.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_REDIRECT_URL = "home"
LOGIN_URL = "account_login"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_CONFIRM_EMAIL_ON_GET = False
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = False
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True  # the password again, before addresses change
ACCOUNT_EMAIL_NOTIFICATIONS = True  # a mail to the old address, or of the new password
ACCOUNT_UNIQUE_EMAIL = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if PUBLIC else "http"
ACCOUNT_RATE_LIMITS = {  # per address of the network, behind which may be a whole congress; per account there, tighter
    "login": "60/m/ip",
    "login_failed": "20/m/ip,5/5m/key",
    "signup": "60/h/ip",
    "reset_password": "60/h/ip,5/h/key",
    "confirm_email": "1/m/key",
}
ACCOUNT_FORMS = {"signup": "isocenter.server.people.forms.SignupForm"}
ACCOUNT_ADAPTER = "isocenter.server.people.accounts.Adapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "isocenter"
REQUIRE_MFA = yes_or_no("ISOCENTER_REQUIRE_MFA", default=PUBLIC)

USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-gb"

STATIC_URL = "/static/"
STATIC_ROOT = DATA / "static"
STATICFILES_DIRS = [("viewer", HERE.parent / "viewer" / "static"), ("viewer/vendor", HERE.parent / "viewer" / "vendor")]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": DATA / "files"}},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
MOST_UPLOAD_BYTES = int(number("ISOCENTER_MOST_UPLOAD_GB", 20) * 1e9)
MOST_FORM_BYTES = 250 * 10**6  # of a file in a plain form, without scripts
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 2**20
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]

vars().update(mail(os.environ.get("EMAIL_URL", ""), mailers=django.VERSION >= (6, 1)))
DEFAULT_FROM_EMAIL = os.environ.get("ISOCENTER_MAIL_FROM") or f"isocenter@{_AT.hostname or 'localhost'}"
SERVER_EMAIL = DEFAULT_FROM_EMAIL

SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = PUBLIC
SECURE_REDIRECT_EXEMPT = [r"^health/$"]  # asked by the machine itself, which speaks no https
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if PUBLIC else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = PUBLIC
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PUBLIC else None
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "isocenter": {"level": "INFO"},
        "waitress": {"level": "ERROR"},
        "django.request": {"level": "ERROR"},  # not every address that does not exist, which may hold a secret
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # somebody knocks at every machine
    },
}
