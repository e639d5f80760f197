"""Secrets go, ordinary text stays, and neither costs more than linear time."""

import time

import pytest

from slowwave.redaction.labelled import labels
from slowwave.redaction.redaction import redact
from slowwave.redaction.rules import RULES

RANDOM = "aB3dE5gH7jK9mN2pQ4sT6vW8xY1zA3cD5eF7gH9jK2mN4pQ6"

HEX = "0123456789abcdef" * 4

SELF_EVIDENT = [
    ("age", "AGE-SECRET-KEY-1" + RANDOM.upper()),
    ("anthropic", "sk-ant-api03-" + RANDOM),
    ("aws", "AKIAIOSFODNN7EXAMPLE"),
    ("aws", "ASIA" + RANDOM[:16].upper()),
    ("azure", "aB3" + "8Q~" + RANDOM[:34]),
    ("bitbucket", "ATBB" + RANDOM[:32]),
    ("databricks", "dapi" + HEX[:32]),
    ("digitalocean", "dop_v1_" + HEX),
    ("discord", "M" + RANDOM[:23] + "." + RANDOM[:6] + "." + RANDOM[:27]),
    ("discord", "O" + RANDOM[:25] + "." + RANDOM[:6] + "." + RANDOM[:38]),
    ("github", "ghp_" + RANDOM[:36]),
    ("github", "github_pat_" + RANDOM[:22] + "_" + RANDOM),
    ("gitlab", "glpat-" + RANDOM[:20]),
    ("gitlab", "glcbt-64_" + RANDOM[:20]),
    ("gitlab", "GR1348941" + RANDOM[:20]),
    ("google", "AIzaSy" + RANDOM[:33]),
    ("google", "1//0" + RANDOM),
    ("groq", "gsk_" + RANDOM + "xY12"),
    ("huggingface", "hf_" + RANDOM[:34]),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + RANDOM[:43]),
    ("linear", "lin_api_" + RANDOM[:40]),
    ("mailchimp", HEX[:32] + "-us12"),
    ("notion", "ntn_" + RANDOM[:46]),
    ("npm", "npm_" + RANDOM[:36]),
    ("openai", "sk-proj-" + RANDOM),
    ("perplexity", "pplx-" + RANDOM),
    ("pypi", "pypi-AgEIcHlwaS5vcmc" + RANDOM * 2),
    ("replicate", "r8_" + RANDOM[:37]),
    ("sendgrid", "SG." + RANDOM[:22] + "." + RANDOM[:43]),
    ("shopify", "shpat_" + HEX[:32]),
    ("slack", "xoxb-123456789012-1234567890123-" + RANDOM[:24]),
    ("slack", "xapp-1-A0B1C2D3E4F-1234567890123-" + HEX),
    ("square", "sq0csp-" + RANDOM[:43]),
    ("square", "EAAA" + (RANDOM * 2)[:60]),
    ("stripe", "sk_live_" + RANDOM),
    ("telegram", "110201543:AAH" + RANDOM[:32]),
    ("telegram", "110201543:B3x" + RANDOM[:32]),
    ("twilio", "SK" + HEX[:32]),
    ("twilio", "AC" + HEX[:32]),
    ("vault", "hvs." + RANDOM),
    ("xai", "xai-" + RANDOM),
]
"""Keys put together when the tests run, so that no scanner takes this file for a leak."""

FRAMES = [
    "{}",
    "here: {} and so on",
    "'{}'",
    '"{}"',
    "`{}`",
    "({})",
    "<{}>",
    "it is {}.",
    "it is {}, I think",
    "key={}",
    "https://example.org/?key={}&page=2",
    '{{"value": "{}"}}',
    '{{\\"value\\": \\"{}\\"}}',
    "first\\n{}\\nlast",
    "first\n{}\nlast",
    "| key | {} |",
    "> {}",
    "\x1b[32m{}\x1b[0m",
    "export KEY={}; run",
    "Authorization: Bearer {}",
]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(("kind", "secret"), SELF_EVIDENT)
def test_a_secret_with_a_form_of_its_own_goes_wherever_it_stands(kind, secret, frame):
    text, found = redact(frame.format(secret))
    assert secret not in text
    assert secret[8:] not in text
    assert sum(found.values()) >= 1


@pytest.mark.parametrize(("kind", "secret"), SELF_EVIDENT)
def test_the_mark_and_the_count_name_the_kind(kind, secret):
    assert redact(secret) == (f"[redacted:{kind}]", {kind: 1})


def test_every_kind_of_form_has_an_example_here():
    assert {rule.kind for rule in RULES if rule.is_long} >= {kind for kind, _ in SELF_EVIDENT}


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
        ("'SecretAccessKey': 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'", "wJalrXUtnFEMI"),
        ("aws access key of the runner: '" + RANDOM[:40] + "'", RANDOM[:40]),
        ("https://discord.com/api/webhooks/123456789/" + RANDOM, RANDOM),
        ("AccountName=x;AccountKey=" + "A1b/" * 21 + "AAA=;EndpointSuffix=core.windows.net", "A1b/A1b/"),
        ("MISTRAL_API_KEY=" + RANDOM[:32], RANDOM[:32]),
        ("CO_API_KEY: '" + RANDOM[:40] + "'", RANDOM[:40]),
        ("https://hooks.slack.com/services/T00000000/B00000000/" + RANDOM[:24], RANDOM[:24]),
        ("postgres://app:S3cr3t!@db:5432/app", "S3cr3t!"),
        ("postgresql+psycopg://app:p@ss/w0rd@db/app", "p@ss/w0rd"),
        ("redis://:hunter2@cache:6379/0", "hunter2"),
        ("https://me:swordfish@example.org/repo.git", "swordfish"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ('"authorization": "Bearer abcdef123456"', "abcdef123456"),
        ("Cookie: sessionid=abcdefgh1234; theme=dark", "abcdefgh1234"),
        ("password=hunter2", "hunter2"),
        ("password = hunter2", "hunter2"),
        ('"passwd": "swordfish"', "swordfish"),
        ('{\\"password\\": \\"swordfish\\"}', "swordfish"),
        ('"password": "correct horse battery staple"', "correct horse"),
        ("PGPASSWORD=swordfish psql -h db", "swordfish"),
        ("DB_PASS=swordfish", "swordfish"),
        ("DB_PASSWORD=correct_horse_battery", "correct_horse"),
        ("  password: swordfish\n", "swordfish"),
        ("Password: correct!horse", "correct!horse"),
        ('password: str = "hunter2"', "hunter2"),
        ("password => 'hunter2'", "hunter2"),
        ("spring.datasource.password=swordfish", "swordfish"),
        ("secret_key: 'abcdefgh'", "abcdefgh"),
        ("api_key = 8f14e45fceea167a", "8f14e45fceea167a"),
        ("token: 8f14e45fceea167a5a36dedd4bea2543", "8f14e45fceea167a"),
        ("client_secret=Zm9vYmFy", "Zm9vYmFy"),
        ("x-api-key: abc123def", "abc123def"),
        ("login(user='a', password='hunter2')", "hunter2"),
        ("token=foo&password=hunter2&next=/", "hunter2"),
        ("password is hunter2", "hunter2"),
        ("The password for the staging db is hunter2.", "hunter2"),
        ("the password is `swordfish`", "swordfish"),
        ("mysql --password hunter2 -h db", "hunter2"),
        ("curl -u admin:swordfish http://x", "swordfish"),
        ("machine h login me password swordfish", "swordfish"),
        ("CREATE USER x WITH PASSWORD 'swordfish'", "swordfish"),
        ("<password>swordfish</password>", "swordfish"),
        ("| password | hunter2 |", "hunter2"),
    ],
)
def test_a_secret_that_shows_by_its_place_goes_and_the_place_stays(text, secret):
    redacted, found = redact(text)
    assert secret not in redacted
    assert "[redacted:" in redacted
    assert sum(found.values()) >= 1
    assert redact(redacted)[0] == redacted


@pytest.mark.parametrize(
    "text",
    [
        "token format",
        "the password field is required",
        "the token expires in 24h",
        "password must be at least 12 characters",
        "Enter your password: ",
        "I forgot the password to the database",
        "the password is hashed with bcrypt",
        "the secret: practice every day",
        "JWT tokens: we use RS256",
        "tokens per second: 1200",
        "max_tokens=4096, token_count = 12",
        "password=None",
        "password: str",
        "password: str | None = None",
        "def login(self, username, password):",
        "return self.users.get(username) == password",
        "api_key: SecretStr | None = Field(default=None)",
        "connect(token=token, password=self.password)",
        "password = get_password()",
        "api_key = settings.openai.api_key",
        "api_key: OPENAI_API_KEY",
        'os.environ["API_KEY"]',
        'api_key = os.environ["API_KEY"]',
        "password=${DB_PASSWORD}",
        "password=$DB_PASSWORD",
        "password=$(cat file)",
        "password: {{ vault_password }}",
        "api_key=<your-key>",
        "api_key=your-api-key-here",
        "password=********",
        '"password": "The password field is required"',
        "postgres://app:${DB_PASSWORD}@db/app",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "PWD=/home/me/project",
        "PASS: test_login",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "/home/me/.ssh/id_rsa",
        "git@github.com:me/repo.git",
        "https://host:8080/path?mail=a@b",
        "task-management-and-other-things-are-long",
        "docker run -u 1000:1000 image",
        "the header is -----BEGIN PRIVATE KEY----- and then base64",
        "set mysql://user:passwd@db.example:3306/shop in the file",
        "SHOP_DB=mysql://USER:PASSWORD@HOST:3306/SHOP",
        "TOKEN=your-token-here\nSIGNING_SECRET=xxxxxxxxxxxxxxxxxxxx",
        "password: {{ .Values.cache.password | b64enc }}",
        '"signup.password": "Kennwort",\n"signup.newPassword": "Neues Kennwort wählen",',
        '"password": "Mot de passe oublié ?"',
        '"password": "Contraseña"',
        "bob@10.1.0.5's password: \nPermission denied, please try again.",
        "  --password-stdin   Read it from the standard input",
        "  --password   Ask for it on the terminal",
        "  --password PASSWORD   its password",
        '"secret": {"type": "string", "maxLength": 64}',
        '"apiKey": {"description": "The key", "type": "string"}',
        "arn:aws:secretsmanager:eu-north-1:123456789012:secret:shop/mail-x8KqP2",
    ],
)
def test_ordinary_text_stays_as_it_is(text):
    assert redact(text) == (text, {})


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('password: {{ .Values.password | default "hunter22" }}', "hunter22"),
        ('"password": {"type": "string", "default": "hunter22"}', "hunter22"),
        ("passwords = {'bob': 'hunter22', 'eve': 'Sommer2016'}", "Sommer2016"),
        ("mysql --password  Sommer2016", "Sommer2016"),
        ("mysql://user:passwd2016@db.example/shop", "passwd2016"),
        ("SHOP_SECRET=your7hunter!2", "your7hunter!2"),
        ('"signup.password": "Kennwort2016"', "Kennwort2016"),
    ],
)
def test_a_value_beside_a_placeholder_goes(text, secret):
    assert secret not in redact(text)[0]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('<Key>Password</Key><Value ProtectInMemory="True">kiwi-Tango7</Value>', "kiwi-Tango7"),
        ('type_text {"ref": "e4", "element": "Password field", "text": "kiwi-Tango7"}', "kiwi-Tango7"),
        (f'let k = process.env.MAPS_KEY ?? "{RANDOM[:32]}";', RANDOM[:32]),
        (f'var tokenSecret = []byte("{RANDOM[:20]}")', RANDOM[:20]),
        (f'const CLIENT_SECRET: &\'static str = "{RANDOM[:20]}";', RANDOM[:20]),
        ("la clé d'API du serveur, c'est 9f3a7c1e5b80d2469f3a7c1e5b80d246", "9f3a7c1e5b80d246"),
        (f"{RANDOM[:32] * 2}\n{RANDOM[:40]}\n-----END EC PRIVATE KEY-----", RANDOM[:40]),
    ],
)
def test_a_value_goes_through_the_code_or_the_form_around_it(text, secret):
    assert secret not in redact(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "404911 is the number of the ticket about the login",
        "Scan the shelf manually: BOOK DESK LAMP SOFA",
        "the cvc 3 release, and cvv 4 after it",
        "-----END PRIVATE KEY----- ends a file",
        'label ?? "Password"',
        "Password for bob was reset.\nNew value: unknown for the moment",
    ],
)
def test_what_only_resembles_such_a_place_stays(text):
    assert redact(text) == (text, {})


KEY_BODY = "\n".join(RANDOM[:48] + str(10 + line) for line in range(6))
KEY_LINE = KEY_BODY.replace("\n", "\\n")


@pytest.mark.parametrize(
    "text",
    [
        f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY_BODY}\n",
        f"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{KEY_BODY}",
        f'{{"private_key": "-----BEGIN PRIVATE KEY-----\\n{KEY_LINE}\\n-----END PRIVATE KEY-----\\n"}}',
        "-----BEGIN PRIVATE KEY-----\\n" + KEY_LINE,
        "> -----BEGIN PRIVATE KEY-----\n> " + KEY_BODY.replace("\n", "\n> "),
    ],
)
def test_a_private_key_goes_whole_even_if_its_end_is_missing(text):
    redacted, found = redact("before\n" + text + "\nafter, as it was")
    assert RANDOM[:16] not in redacted
    assert redacted.startswith("before\n")
    assert redacted.endswith("\nafter, as it was")
    assert found == {"private-key": 1}


def test_every_secret_of_a_text_is_counted_by_kind():
    secrets = dict(SELF_EVIDENT)
    text = f"{secrets['aws']} {secrets['github']} {secrets['aws']}"
    assert redact(text)[1] == {"aws": 2, "github": 1}


REPEATED = [
    *'aA1 \\"',
    *("password=", 'password="', "password: a b ", "password is ", "--", "--password ", "token: ", "&a="),
    *(
        "token=abcdefgh ",
        "key      ",
        "://",
        "://a:",
        "sk-",
        "eyJ",
        "eyJa.",
        "gh",
        "curl -u ",
        "Authorization: ",
    ),
    *("M", "MTk4.", "12345678:", "0123456789abcdef", "SK0", "AWS KEY "),
    *(
        "password,password\n",
        "password|x\n-|-\n",
        "kind: Secret\ndata:\n a: bbbb\n",
        "secrets:\n a: b\n",
        "password\n\n",
    ),
    *(
        "door code 4829 ",
        "recovery codes ",
        "login with a / b1! ",
        "abandon ",
        "seed abandon ",
        "'a' + 'b'",
        "\\\n",
        "$ cat token\n",
    ),
    *("-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----", 'aws key "', "AKIAIOSFODNN7EXAMPLE "),
]


def seconds(unit: str, size: int) -> float:
    text = unit * (size // len(unit) + 1)
    start = time.thread_time()
    redact(text)
    return time.thread_time() - start


@pytest.mark.parametrize("unit", [*REPEATED, *(secret for _, secret in SELF_EVIDENT)])
def test_repeated_text_takes_linear_time(unit):
    """Six times the text takes six times as long, not thirty-six times; the quickest of several tries counts."""
    allowed = max(0.3, 15 * min(seconds(unit, 4_000) for _ in range(2)))
    assert any(seconds(unit, 24_000) < allowed for _ in range(3))


@pytest.mark.parametrize("before", ['password = "', "password: ", "<password>", "| password |\n|---|\n| "])
def test_a_long_word_beside_a_label_takes_no_time(before):
    """60 letters and a digit took seconds, and each further letter more."""
    start = time.thread_time()
    redact(f'{before}{"a" * 60}1"')
    assert time.thread_time() - start < 0.5


@pytest.mark.benchmark
@pytest.mark.parametrize(
    ("unit", "size"),
    [
        ("password: a b ", 120_000),
        ("token=abcdefgh ", 120_000),
        ("://a:", 1_000_000),
        ("\n", 1_000_000),
        ("SK0", 1_000_000),
    ],
)
def test_long_repeated_text_takes_linear_time(unit, size):
    """A million characters; fewer where each few are a label that every rule looks at."""
    assert seconds(unit, size) < max(0.5, 20 * seconds(unit, size // 10))


def test_the_first_texts_are_searched_for_the_same_labels_as_the_later_ones():
    later = labels.Labels(own=["kiln word"])
    later._text_count = labels.FIRST_TEXTS
    entries = later._all.entries
    for entry, other in zip(entries[::40], entries[::-40], strict=True):
        text = f"Our {entry} and my_{other.replace(' ', '_')}2, then app{other.title().replace(' ', '')}: x; help in"
        first = labels.Labels(own=["kiln word"])
        found = list(later.find(text, text.lower()))
        assert list(first.find(text, text.lower())) == found
        assert found, text
        assert "at_begin" not in vars(first._all)
    assert list(first.find("The glaze is dry.", "the glaze is dry.")) == []
