"""Secrets that only their surroundings give away, and their like that must stay."""

import pytest

from slowwave.redaction.redaction import redact

CODES = ("ab1cd-ef2gh", "jk3lm-no4pq", "rs5tu-vw6xy")
WORD = "Leuchtturm" + "2417!"
KEY = "q7Rf2LmX9vTk4BnZ8sWc3HdYp6Ga"
PHRASE = "copper lantern walrus meadow"


@pytest.mark.parametrize(
    "joint",
    [", ", " / ", " ", "\n", "\n- ", "\n[x] ", "; ", " • "],
    ids=["comma", "slash", "blank", "line", "item", "box", "semicolon", "dot"],
)
def test_all_codes_of_a_list_are_taken(joint):
    text, found = redact(f"Backup codes:{joint}{joint.join(CODES)}\n")
    assert not any(code in text for code in CODES)
    assert found == {"recovery-code": 3}


def test_of_an_address_the_password_alone_is_taken():
    for address in (
        "postgres://bob:{}@db.example:5432/app?sslmode=require",
        "url: mysql://bob:{}@db.example:3306/app",
    ):
        assert redact(address.format("s3cretW0rd"))[0] == address.format("[redacted:connection-string]")


def test_a_value_that_was_found_is_taken_wherever_it_stands_again():
    text, found = redact(f"Ran `deploy {KEY}` first.\nThe API key is {KEY}.\nThen {KEY} was revoked.")
    assert KEY not in text
    assert sum(found.values()) == 3


@pytest.mark.parametrize(
    "text",
    [
        f"KI: Wie lautet das Passwort für den Schlüssel?\nNutzer: {PHRASE}",
        f"LUKS passphrase (laptop)\n= {PHRASE}",
        f"Master password   {PHRASE}",
        f'walletpassphrase "{PHRASE}" 60',
    ],
)
def test_a_pass_phrase_of_plain_words_is_taken_where_nothing_else_can_stand(text):
    assert PHRASE not in redact(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        f'it won\'t take it, try "{WORD}" without the caps, we always use it for the nas',
        f"It's {WORD} (capital first letter). That's the login for the wiki.",
        f"Nimm {WORD} als Passwort.",
        f"puse {WORD} de contraseña en el router",
        f"ustawiłem {WORD} jako hasło do bazy",
        f"passwotr {WORD}",
        f"dbpass {WORD}",
        f"{WORD} (root password)",
        f"creds: vpn {WORD}, wiki tiger4711",
        f"  412  cd /etc\n  413  {WORD}\n(I typed my sudo password at the prompt)",
    ],
)
def test_a_password_near_a_label_is_taken_whatever_stands_between(text):
    assert WORD not in redact(text)[0]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Assistant: They sent a six-digit code. What is it?\nUser: 482913", "482913"),
        ("the code for the gate: 4 8 2 9 1 3 then the hash key", "4 8 2 9 1 3"),
        ("Here is the code you need to log in:\n7KQ2Z", "7KQ2Z"),
        ("PINs: EC 4829, Visa 9137", "9137"),
        ('{"content":"[{\\"name\\":\\"api_key\\",\\"value\\":\\"' + KEY + '\\"}]"}', KEY),
        (f"cargo login {KEY}", KEY),
        (f'api_key: str = field(default="{KEY}")', KEY),
    ],
)
def test_codes_and_keys_are_taken_where_they_are_asked_for_or_given(text, secret):
    assert secret not in redact(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "        except Asn1Error7:\n            pass\n\n        done()",
        "Extra arguments to pass to the fortran77 compiler.",
        "1bd53b6 (HEAD -> main) rename password field\n27bf0e1 add tests",
        'key_or_pass = r"(?:key|pwd|password|pass|token)"',
        "_CLIENT_SECRET = 'CLIENT_SECRET'",
        "client_secret=constants.OAUTH_CLIENT_SECRET,",
        "The --username and --password options can't be used here.",
        '"sessionId":"compact-session-001","text":"your password was reset"',
        "'-----BEGIN RSA PRIVATE KEY-----', '-----END RSA PRIVATE KEY-----'",
        "Assistant: What is the password of the router?\nUser: I don't know, ask Marek",
        "Das WLAN heißt Fritz-Lan_5G und ist langsam; das Passwort liegt am Empfang.",
        "Password\nplease choose something that nobody can guess",
    ],
)
def test_what_stands_near_a_label_by_chance_stays(text):
    assert redact(text) == (text, {})


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Use 482913 to verify your account", "482913"),
        ("License: AB12-CD34-EF56-GH78", "AB12-CD34-EF56-GH78"),
        ("Enter passphrase: sesamseed", "sesamseed"),
        ('builder.withPassword("sesamseed")', "sesamseed"),
        ("bcrypt.hashpw(b'sesamseed77', salt)", "sesamseed77"),
        ("restic password tiger-lamp-coffee-river", "tiger-lamp"),
        (f"vault password: {PHRASE}", PHRASE),
        (f"users:\n  - name: bob\n    password: >-\n      {PHRASE}\n    groups: [ops]", PHRASE),
        ("Para entrar por la puerta del patio marca 4829 y sube.", "4829"),
        ("The bike room: turn the light on, then code 91372.", "91372"),
        ("La boîte à clés s'ouvre avec le 829137.", "829137"),
        ("Den Tresor bekommst du auf, Kombination 482913.", "482913"),
        ("Alarm w biurze wyłącza się kodem 482913.", "482913"),
        ("[agent] Enter the passphrase of the key:\n[user] " + PHRASE, PHRASE),
        ("Asystent: Podaj hasło do serwera, żeby kontynuować.\nOla: proszę, to Kolibri4829", "Kolibri4829"),
        ("Bot: Indica el PIN de la tarjeta nueva.\nYo: 4829", "4829"),
        ("keyName  permissions  value\nkey1     FULL         " + "aB3/dE5g+H7j" * 7 + "aB==", "aB3/dE5g"),
        (f"| service | key |\n|---|---|\n| maps | {'9f3a7c1e5b80d246' * 2} |", "9f3a7c1e"),
        ("login for the box below\n\nroot\nOc%3Gk--ni3\n\nthanks", "Oc%3Gk--ni3"),
        (
            "Assistant: Which passphrase was it?\n\nHuman: it was copper lantern velvet tunnel I think",
            "lantern velvet",
        ),
        ("- Grafana: admin / copper-lantern-velvet-tunnel\n- renewal on Monday", "lantern-velvet"),
        (".username('root')\n.password('copper-lantern-velvet-tunnel')", "lantern-velvet"),
        ('{"log": "port 80\\npassword: \\"kolibri-4829\\"\\nok"}', "kolibri-4829"),
        ("pass\x1b[31mword\x1b[0m: \x1b[1mkolibri-4829\x1b[0m", "kolibri-4829"),
        ("define('AUTH_KEY',         'k7#pq!z2^r(9w_e%t4&u1)o5*i8 ');", "k7#pq!z2"),
    ],
)
def test_a_plain_value_is_taken_where_its_place_says_what_it_is(text, secret):
    assert secret not in redact(text)[0]


HEX_LINES = "\n".join(f"9f3a7c1e5b80d246{number:016x}" for number in range(7, 12))


@pytest.mark.parametrize("name", ["OpenVPN Static key V1", "SSH2 ENCRYPTED PRIVATE KEY", "ACME Secret"])
@pytest.mark.parametrize("ends", [True, False])
def test_a_block_of_a_key_goes_whatever_program_names_it(name, ends):
    block = f"-----BEGIN {name}-----\n{HEX_LINES}\n" + f"-----END {name}-----\n" * ends
    assert "9f3a7c1e" not in redact(f"here it is:\n{block}\nthanks")[0]


@pytest.mark.parametrize(
    "text",
    [
        f"This reverts commit {'32240515' * 5}.",
        "De poort 5432 is open, and it is safe to remove 10000 rows.",
        "The price of the garden gate is 4712 euros.",
        f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n{HEX_LINES}\n-----END PGP PUBLIC KEY BLOCK-----",
        f"$ head -4 ca.pem\n-----BEGIN CERTIFICATE-----\nMIIF{KEY * 2}\n",
        f"Cache restored from key: pip-{'9f3a7c1e5b80d246' * 4}",
        "X509v3 Subject Key Identifier:\n    1a:86:0d:7e:c4:7b",
        "README says: $password = $_POST['password'];",
        "ghp_" + "x" * 36,
        'ERROR_BAD_PASSWORD = "bad_password"',
        "    username, password = split\n",
        "Passwort: Pflichtfeld",
        "store the passphrase they will pass to crypt_*.",
        "my ($name, $pw_uid) = ($passwd[0], $passwd[2]); $pw_gid = $passwd[3];",
        "The default passphrase is the one that is used\\&.\n.sp\n$ tool \\-\\-secret=my\\-secret \\-\\-etag=123",
        f"{'aB3dE5gH7j' * 3}Pw{'K9mN2pQ4' * 4}\n{'T6vW8xY1zA3c' * 5}\n{'D5eF7gH9jK2m' * 5}",
        "CFLAGS='-DHAVE_PW_GECOS=1 -DHAVE_XKB=1' make -C \"$PWD\" USE_PGXS=1",
        "def check(user, password):\nkey = (row.tenant, row.user_id)",
        "proxy = { host: 'gateway', port: 1081, type: 5 } // the door of the network, since 2019",
        f"-----BEGIN PGP SIGNATURE-----\n\n{KEY * 2}\n{KEY[::-1] * 2}\n-----END PGP SIGNATURE-----",
        "security.password.encoder=argon2\nsecurity.token.expiry=PT27M\n",
        "What is the password of db01.example.org?\nI will ask Marek.",
        "aws secretsmanager get-secret-value --secret-id prod/db/password --region eu-central-1",
        "The password is in the settings. Closes: 444902",
        "they pass to modnames2paths and the words 'pwd$', 're$read', 'res$et'",
        "Pin: origin deb.example\nPin-Priority: 600",
        "stripe publishable key: pk_live_aB3dE5gH7jK9mN2pQ4sT6vW8",
        "{ label: 'Password', placeholder: 'Your password', testId: 'field-47' }",
        'char[] typed = console.readPassword("Password of %s: ", "mara");',
        "config.secret_key_base = Rails.application.credentials.harbour",
        "Passwords are hashed with argon2id, formerly with scram-sha-256.",
    ],
)
def test_what_only_looks_like_a_secret_stays(text):
    assert redact(text)[0] == text


def test_a_password_in_quotes_after_a_user_is_taken():
    assert redact(f"curl -s -u deploy:'{KEY}' https://app.example")[0].startswith(
        "curl -s -u deploy:'[redacted"
    )


def test_doing_it_again_changes_nothing_in_a_long_text_and_what_a_mark_uncovers_is_taken():
    """The second look is at the lines around the marks alone; here a mark is what makes the next value one."""
    ordinary = "The port is 8080 and the table has two keys, which nobody needs to hide.\n" * 60
    told = [f"password: Kolibri{number}829\nlogin with bob / Kolibri-{number}77!\n" for number in range(9)]
    once = redact(ordinary.join(["", *told, ""]))[0]
    assert "Kolibri" not in once
    assert once.count(ordinary) == len(told) + 1
    assert redact(once) == (once, {})
