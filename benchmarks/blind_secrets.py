"""Secrets as they are met in the wild, and texts that only look like them, drawn anew for each seed.

Written from general knowledge of credentials before its author had read any rule of the redactor, so that it
measures what the rules miss rather than what they were made for. **Never tune a rule on a single miss of it**: read its
result by class. `benchmarks/redaction.py` runs it.
"""

import base64
import html
import json
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

NEVER: Final = ("card", "iban", "key-block", "vendor", "url", "assignment", "header")
"""Classes of which nothing may be stored."""

# One kind a line, `«…»` around what is secret; `{name:argument}` is drawn by the function of that name in `DRAWS`.
SECRETS: Final = r"""
[card]
my visa is «{card:4,16}»
card number: «{grouped:4,16}»
pay with «{grouped:51,16}» exp 04/29
4 digits wrong? I typed «{dashed:55,16}»
amex «{amex:37}» on file
AMEX «{card:34,15}»
{"pan": "«{card:53,16}»", "exp": "0827"}
<CardNumber>«{card:4,16}»</CardNumber>
charged «{grouped:6011,16}» twice last month
diners «{card:36,14}»
jcb «{card:3530,16}» declined
maestro: «{card:6304,16}»
unionpay «{grouped:6212,16}»
2-series mastercard «{card:2221,16}»
cc_number=«{card:52,16}»&cvc=«{dig:3}»
INSERT INTO cards VALUES (17, '«{card:4,16}»', 'J. Doe');
The customer reads out «{grouped:54,16}», please refund it.
Karte «{card:4,16}», gültig bis 11/28
№ карты «{grouped:4,16}»
[iban]
IBAN «{iban:DE}»
iban: «{ibang:GB}»
please wire it to «{ibang:FR}»
Überweise bitte auf «{ibang:DE}», danke
{"iban":"«{iban:NL}»"}
account «{iban:ES}»
my account is «{ibang:IT}»
«{ibang:PL}» (PKO)
«{iban:CH}»
BE: «{ibang:BE}»
payout_iban = "«{iban:AT}»"
SE «{ibang:SE}» / BIC NDEASESS
Bankverbindung: «{ibang:AT}»
beneficiary «{iban:PT}»
[key-block]
-----BEGIN RSA PRIVATE KEY-----\n«{pem:18}»\n-----END RSA PRIVATE KEY-----
-----BEGIN PRIVATE KEY-----\n«{pem:14}»\n-----END PRIVATE KEY-----
-----BEGIN EC PRIVATE KEY-----\n«{pem:3}»\n-----END EC PRIVATE KEY-----
-----BEGIN OPENSSH PRIVATE KEY-----\n«{pem:6}»\n-----END OPENSSH PRIVATE KEY-----
-----BEGIN ENCRYPTED PRIVATE KEY-----\n«{pem:16}»\n-----END ENCRYPTED PRIVATE KEY-----
-----BEGIN DSA PRIVATE KEY-----\n«{pem:8}»\n-----END DSA PRIVATE KEY-----
-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n«{pem:12}»\n=Ab3d\n-----END PGP PRIVATE KEY BLOCK-----
here it is, cut off:\n-----BEGIN RSA PRIVATE KEY-----\n«{pem:9}»
key = "-----BEGIN PRIVATE KEY-----\\n«{b64:64}»\\n«{b64:64}»\\n-----END PRIVATE KEY-----\\n"
PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: imported\nPublic-Lines: 1\nAAAAB3Nz\nPrivate-Lines: 4\n«{pem:4}»\nPrivate-MAC: «{hex:40}»
apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  password: «{b64of:pw}»\n  username: YWRtaW4=
kind: Secret\nstringData:\n  smtp-pass: «{rand}»\n  hmac: «{b62:40}»
-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,8A11\n\n«{pem:10}»\n-----END RSA PRIVATE KEY-----
"private_key": "-----BEGIN PRIVATE KEY-----\\n«{b64:300}»\\n-----END PRIVATE KEY-----\\n"
[vendor]
ghp_ token: «ghp_{b62:36}»
«gho_{b62:36}»
use «ghs_{b62:36}» in CI
«github_pat_{b62:22}_{b62:59}»
«glpat-{b64u:20}»
«glrt-{b64u:20}» registers the runner
«gldt-{b64u:20}»
aws «AKIA{B32:16}»
temporary «ASIA{B32:16}»
openai «sk-{b62:48}»
«sk-proj-{b64u:74}T3BlbkFJ{b64u:74}»
«sk-ant-api03-{b64u:93}AA»
«sk-or-v1-{hex:64}»
«gsk_{b62:52}»
«hf_{alpha:34}»
«r8_{b62:37}»
«pplx-{b62:48}»
«xai-{b62:80}»
«xoxb-{dig:12}-{dig:12}-{b62:24}»
«xoxp-{dig:12}-{dig:12}-{dig:12}-{hex:32}»
«xapp-1-A{UP:10}-{dig:13}-{hex:64}»
post to https://hooks.slack.com/services/«T{UP:8}/B{UP:10}/{b62:24}»
https://discord.com/api/webhooks/{dig:18}/«{b64u:68}»
bot «{dig:10}:AA{b64u:33}»
discord bot «M{b62:25}.G{b62:5}.{b64u:38}»
«sk_live_{b62:24}»
«rk_live_{b62:24}»
«sk_test_{b62:24}»
webhook «whsec_{b62:32}»
«sq0atp-{b64u:22}»
«sq0csp-{b64u:43}»
«EAAA{b64u:60}»
«SG.{b64u:22}.{b64u:43}»
mailgun «key-{hex:32}»
mailchimp «{hex:32}-us14»
«xkeysib-{hex:64}-{b62:16}»
twilio «SK{hex:32}»
«AIza{b64u:35}»
«ya29.a0A{b64u:120}»
«1//0{b64u:60}»
google client «GOCSPX-{b64u:28}»
«npm_{b62:36}»
«pypi-AgEIcHlwaS5vcmc{b64u:120}»
«rubygems_{hex:48}»
«dckr_pat_{b64u:27}»
«hvs.{b64u:95}»
«s.{b62:24}» (vault, old)
«dop_v1_{hex:64}»
heroku «HRKU-{uuid}»
«shpat_{hex:32}»
«shpss_{hex:32}»
«lin_api_{b62:40}»
«secret_{b62:43}» from Notion
«ntn_{b62:46}»
«figd_{b64u:40}»
«PMAK-{hex:24}-{hex:34}»
«dapi{hex:32}»
«NRAK-{UP:27}»
«glsa_{b62:32}_{hex:8}»
«eyJrIjoi{b62:70}»
«sntrys_{b64:90}»
«phc_{b62:43}»
«pk.eyJ1Ijoi{b62:60}.{b64u:22}»
«sk.eyJ1Ijoi{b62:60}.{b64u:22}»
«ATATT3xFfGF0{b64u:170}»
«ATBB{b62:32}»
«AGE-SECRET-KEY-1{AGE:58}»
«tskey-auth-{b62:17}-{b62:32}»
«pul-{hex:40}»
«{b62:14}.atlasv1.{b64u:67}»
«EZAK{hex:54}»
«shippo_live_{hex:40}»
«sbp_{hex:40}»
«sb_secret_{b64u:31}»
«pscale_tkn_{b64u:43}»
«pscale_pw_{b64u:43}»
«fo1_{b64u:43}»
«FlyV1 fm2_{b64:160}»
«vercel_blob_rw_{b62:16}_{b62:30}»
«nfp_{b62:36}»
«rnd_{b62:32}»
«re_{b62:8}_{b62:24}»
«CCIPAT_{b62:22}_{hex:40}»
«bkua_{hex:40}»
«dp.pt.{b62:43}»
«ops_eyJ{b62:250}»
«A3-{UP:6}-{UP:11}-{UP:5}-{UP:5}-{UP:5}»
«cio_{b62:32}» «tfp_{b64u:44}_{b64u:14}»
«oy2{low:43}»
«AccountKey={b64:86}==»
«sv=2022-11-02&ss=b&sig={b64:43}%3D»
«{b62:3}8Q~{b64u:34}»
«LTAI{b62:20}» alicloud
«AKID{b62:32}»
«EAACEdEose0cBA{b62:80}»
«AAAAAAAAAAAAAAAAAAAAA{b62:60}%3D{b62:30}» twitter bearer
«t1.9eu{b64u:60}.{b64u:86}»
«AQVN{b64u:36}»
«{jwt}»
[url]
postgres://{user}:«{plain}»@{host}:5432/{db}
postgresql://{user}:«{rand_url}»@{host}/{db}?sslmode=require
mysql://root:«{weak}»@127.0.0.1:3306/{db}
mongodb+srv://{user}:«{plain}»@cluster0.ab1cd.mongodb.net/{db}
redis://:«{plain}»@{host}:6379/0
rediss://default:«{hex:32}»@{host}:6380
amqp://{user}:«{weak}»@{host}//
https://{user}:«{pw_url}»@{host}/repo.git
https://«{hex:40}»@{host}/org/repo.git
https://oauth2:«{b62:26}»@gitlab.{host}/x.git
ftp://{user}:«{weak}»@ftp.{host}/pub
sftp://{user}:«{pw_url}»@{host}:22/in
smtp://{user}%40{host}:«{plain}»@smtp.{host}:587
ldap://cn=admin:«{plain}»@{host}
clickhouse://default:«{plain}»@{host}:9000/{db}
https://{host}/cb?code=ok&access_token=«{b64u:40}»
https://{host}/api?user=7&api_key=«{hex:32}»
GET /v1/items?apikey=«{plain}»&page=2
https://{host}/reset?token=«{b64u:32}»
https://s3.amazonaws.com/b/k?X-Amz-Date=20250101T000000Z&X-Amz-Signature=«{hex:64}»
https://x.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=«{b64url:43}»%3D
nats://{user}:«{weak}»@{host}:4222
https://«{hex:32}»:«{hex:32}»@sentry.{host}/12
jdbc:postgresql://{host}/{db}?user={user}&password=«{plain}»
[assignment]
DB_PASSWORD=«{weak}»
POSTGRES_PASSWORD=«{plain}»
export AWS_SECRET_ACCESS_KEY=«{b64:40}»
aws_secret_access_key = «{b64:40}»
SECRET_KEY = 'django-insecure-«{rand_q:50}»'
SECRET_KEY_BASE=«{hex:128}»
APP_KEY=base64:«{b64:43}»=
JWT_SECRET="«{plain}»"
API_KEY=«{plain}»
STRIPE_KEY='«{b62:32}»'
api_key: «{hex:32}»
apiKey: "«{b62:28}»",
"password": "«{pw}»"
"client_secret": "«{b64u:40}»",
password = "«{weak}»"
password: «{pw}»
passwd=«{pw}»
pwd: '«{weak}»'
pass = «{pw}»
PASSWORD="«{words}»"
db.password=«{pw}»
spring.datasource.password=«{weak}»
secret: «{b64u:43}»
SESSION_SECRET=«{words}»
const token = "«{b64u:36}»";
let accessToken = '«{b62:44}»';
auth_token := "«{hex:40}»"
refresh_token=«{b64u:64}»
private_key = "0x«{hex:64}»"
ENCRYPTION_KEY=«{b64:43}»=
MASTER_KEY=«{hex:32}»
$env:API_TOKEN = "«{b62:32}»"
set DB_PASS=«{pw}»
SMTP_PASS=«{lowgroups}»
webhook_secret = «{hex:40}»
define('DB_PASSWORD', '«{rand_q:16}»');
define('AUTH_KEY', '«{rand_q:64}»');
<password>«{pw_xml}»</password>
<add key="ApiSecret" value="«{b64:44}»" />
Password=«{pw}»;Server={host};User Id=sa
Server={host};Database={db};User Id=sa;Password=«{pw}»;
Server={host};Uid={user};Pwd=«{plain}»;
admin_password = "«{pw}»"  # change later
ansible_become_pass: «{pw}»
ansible_ssh_pass=«{weak}»
consumer_secret = "«{b62:50}»"
bot_token: «{b62:59}»
signing_key => '«{hex:64}»',
:api_token => "«{b62:32}»"
user.setPassword("«{pw}»");
password="«{plain}»", host="{host}")
connect(user='{user}', passwd='«{pw}»')
GRAFANA_ADMIN_PASSWORD: ${GP:-«{weak}»}
  rootPassword: «{plain}»
datadog.apiKey=«{hex:32}»
ARG NPM_TOKEN=«{uuid}»
wpa_passphrase=«{words}»
psk="«{pw}»"
requirepass «{plain}»
PRESHARED_KEY=«{b64:43}»=
PrivateKey = «{b64:43}»=
encryption.passphrase=«{phrase}»
[header]
Authorization: Bearer «{b64u:48}»
Authorization: Basic «{basic}»
authorization: token «{hex:40}»
Authorization: ApiKey «{b64:48}»
Authorization: Digest username="{user}", nonce="abc", response="«{hex:32}»"
X-API-Key: «{b62:32}»
x-api-key: «{hex:32}»
X-Auth-Token: «{uuid}»
PRIVATE-TOKEN: «{b62:20}»
X-Vault-Token: «{b62:26}»
Proxy-Authorization: Basic «{basic}»
curl -H "Authorization: Bearer «{b62:40}»" https://{host}/v1
curl -H 'X-Api-Key: «{b64u:36}»' https://{host}
headers = {"Authorization": "Bearer «{b64u:52}»"}
headers: { 'X-API-KEY': '«{hex:40}»' }
Cookie: sessionid=«{an:32}»; theme=dark
Set-Cookie: session=«{b64u:60}»; HttpOnly; Path=/
Cookie: JSESSIONID=«{HEX:32}»
DD-API-KEY: «{hex:32}»
Ocp-Apim-Subscription-Key: «{hex:32}»
X-Amz-Security-Token: «{b64:200}»
Authorization: AWS4-HMAC-SHA256 Credential=X/20250101/us-east-1/s3/aws4_request, Signature=«{hex:64}»
request.headers["X-Auth-Key"] = "«{hex:37}»"
[said]
the password is «{pw}»
my password is «{weak}»
password for staging is «{pw}», don't share it
The admin password is "«{pw}»".
log in as {user} with password «{pw}»
use «{pw}» as the password
the new password should be «{pw}»
I changed the root password to «{rand}»
set the password of {db} to `«{pw}»`
the api key is «{hex:32}»
our token is «{b62:30}»
wifi password: «{words}»
the wifi at the office is Guest5, password «{weak}»
pw: «{pw}»
pw is «{weak}»
pass: «{weak}»
creds: {user} / «{pw}»
credentials are {user}:«{pw}»
login {user}, pass «{pw}»
user: {user} password: «{pw}»
username {user} and password «{weak}»
my pin is «{dig:4}»
PIN: «{dig:6}»
the door code is «{dig:4}»
alarm code «{dig:4}#»
the cvv is «{dig:3}»
your verification code is «{dig:6}»
2FA code: «{dig:6}»
the passphrase is «{phrase}»
my passphrase: "«{phrase}»"
remember that the secret for the webhook is «{hex:40}»
please keep this: the key to the vault is «{plain}»
I use «{pw}» everywhere
hey, «{pw}» is the one for the router
password reset to «{pw}» for {email}
{email} «{pw}»
{email}:«{pw}»
{email} / «{weak}»
root/«{weak}»
try admin / «{pw}»
the sudo password on {host} is still «{weak}»
das Passwort ist «{pw}»
Passwort: «{weak}»
mein Kennwort lautet «{pw}»
der API-Schlüssel ist «{hex:32}»
le mot de passe est «{pw}»
mot de passe : «{pw}»
la contraseña es «{pw}»
contraseña: «{weak}»
a senha é «{pw}»
senha: «{weak}»
la password è «{pw}»
het wachtwoord is «{pw}»
hasło: «{pw}»
hasło to «{weak}»
пароль «{pw}»
пароль: «{weak}»
мой пароль «{pw}», логин {user}
токен: «{b62:32}»
パスワードは«{pw}»です
密码：«{weak}»
密码是«{pw}»
şifre: «{pw}»
lösenord: «{pw}»
Can you put «{plain}» in as the client secret?
Secret key, for when you deploy: «{b62:40}»
The service account ({user}) has «{pw}» for a password.
My old password was «{weak}», the new one is «{pw}».
Here's the token you asked for: «{b64u:40}»
It asks for the license key: «{UP:5}-{UP:5}-{UP:5}-{UP:5}-{UP:5}»
the answer to my security question is «{word}»
SSH passphrase for the deploy key: «{words}»
encrypt with «{words}» please
Whoever needs the db: password's «{pw}»
pass the key «{hex:32}» to the client
the combo to the safe is «{dig:2}-{dig:2}-{dig:2}»
My SSN is «{ssn}»
[command]
mysql -u root -p«{pw}» {db}
mysqldump --password=«{pw}» {db} > d.sql
PGPASSWORD=«{weak}» psql -h {host} -U {user}
curl -u {user}:«{pw}» https://{host}/api
curl --user "{user}:«{pw}»" https://{host}
sshpass -p '«{pw}»' ssh {user}@{host}
docker login -u {user} -p «{plain}» registry.{host}
redis-cli -h {host} -a «{plain}» ping
mongosh --username {user} --password «{weak}»
htpasswd -b .htpasswd {user} «{pw}»
echo "«{pw}»" | sudo -S apt update
echo '{user}:«{pw}»' | chpasswd
net use Z: \\\\srv\\share «{pw}» /user:{user}
az login --service-principal -u {uuid} -p «{b64u:34}» --tenant {uuid}
helm install x --set auth.password=«{weak}»
kubectl create secret generic db --from-literal=password=«{pw}»
vault login «{b62:26}»
wget --http-password=«{pw}» https://{host}/f
7z x a.7z -p«{weak}»
openssl enc -aes-256-cbc -k «{pw}» -in a
gpg --batch --passphrase "«{words}»" -d f.gpg
lftp -u {user},«{pw}» {host}
gh auth login --with-token <<< "«{b62:40}»"
aws configure set aws_secret_access_key «{b64:40}»
npm config set //registry.{host}/:_authToken «{uuid}»
smbclient //srv/x -U {user}%«{pw}»
snmpwalk -v2c -c «{weak}» {host}
ALTER USER {user} WITH PASSWORD '«{pw}»';
CREATE USER '{user}'@'%' IDENTIFIED BY '«{pw}»';
Enter password: «{pw}»
ldapsearch -D cn=admin -w «{pw}» -b dc=x
[file]
//registry.npmjs.org/:_authToken=«{uuid}»
machine {host} login {user} password «{pw}»
{host}:5432:{db}:{user}:«{pw}»
{user}:$6$«{b62:8}${b64:86}»:19000:0:99999:7:::
{user}:$2y$10$«{b64:53}»
{user}:$apr1$«{b62:8}${b62:22}»
password_hash = $argon2id$v=19$m=65536,t=3,p=4$«{b64:22}${b64:43}»
{"auths":{"https://index.docker.io/v1/":{"auth":"«{basic}»"}}}
[pypi]\nusername = {user}\npassword = «{pw}»
users:\n- name: x\n  user:\n    token: «{b64u:60}»
    client-key-data: «{b64:300}»
$ANSIBLE_VAULT;1.1;AES256\n«{dig:80}»\n«{dig:80}»
<server><id>x</id><username>{user}</username><password>«{pw_xml}»</password></server>
network={\n  ssid="Home"\n  psk="«{words}»"\n}
[default]\naws_access_key_id = «AKIA{B32:16}»\naws_secret_access_key = «{b64:40}»
{"type":"service_account","private_key_id":"«{hex:40}»"}
{"access_token":"«{b64u:60}»","expires_in":3600,"token_type":"Bearer"}
{"token": {"value": "«{b64u:40}»"}}
{"name": "DB_PASSWORD", "value": "«{pw}»"}
- name: API_TOKEN\n  value: «{b62:32}»
variable "db_password" {\n  default = "«{pw}»"\n}
otpauth://totp/X:{email}?secret=«{b32:32}»&issuer=X
totp_secret: «{b32:16}»
enable secret 5 $1$«{b62:4}${b62:22}»
snmp-server community «{weak}» RO
username {user} privilege 15 secret 0 «{pw}»
security.basicAuth:\n  {user}: «{pw}»
[table]
| user | password |\n|---|---|\n| {user} | «{pw}» |\n| {user}2 | «{weak}» |
user,password\n{user},«{pw}»\n{user}2,«{weak}»
| Service | Login | Password |\n|---|---|---|\n| {db} | {user} | «{pw}» |
name\ttoken\nci\t«{b62:32}»\ndev\t«{b62:32}»
Username  Password\n--------  --------\n{user}    «{pw}»
id;email;pwd_hash\n1;{email};«{hex:32}»
Recovery codes:\n«{hex:5}-{hex:5}»\n«{hex:5}-{hex:5}»\n«{hex:5}-{hex:5}»
Backup codes\n1. «{dig:8}»\n2. «{dig:8}»\n3. «{dig:8}»
| key | value |\n|---|---|\n| API key | «{hex:32}» |
<tr><td>Password</td><td>«{pw_xml}»</td></tr>
[next-line]
Password:\n«{pw}»
Here is the password:\n\n«{pw}»
API key\n«{b62:40}»
What is the password?\n«{pw}»
the token (expires Friday):\n```\n«{b64u:48}»\n```
Username: {user}\nPassword\n  «{weak}»
пароль:\n«{pw}»
Secret access key\n«{b64:40}»
password:\n  - «{pw}»
[wallet]
seed phrase: «{seed:12}»
my recovery phrase is «{seed:24}»
«{seed:12}»
«{seed:24}»
Mnemonic: «{seed:18}»
write down: «{numbered:12}»
WIF «{wif}»
«{wif}» holds 0.4 BTC
private key 0x«{hex:64}»
ETH_PRIVATE_KEY=«{hex:64}»
«xprv{b58:107}»
nsec: «nsec1{AGElow:58}»
[loose]
«{jwt}»
«{hex:64}»
«{b64:44}»
«{rand}»
«{plain}» works for both
I think it was «{pw}» or «{pw}»
{user} «{pw}»
{host} {user} «{pw}»
{host}\n{user}\n«{pw}»
"«{rand}»"
"""

LOOK_ALIKES: Final = r"""
commit {hex:40}
{hex:7} Fix the parser
fixed in {hex:12}
id: {uuid}
"request_id": "{uuid}"
trace_id={hex:32} span_id={hex:16}
sha256:{hex:64}
{hex:64}  release.tar.gz
"integrity": "sha512-{b64:86}=="
--hash=sha256:{hex:64} \
image: registry.{host}/app@sha256:{hex:64}
checksum = "{hex:64}"
ETag: "{hex:32}"
md5sum {hex:32}
Change-Id: I{hex:40}
index {hex:7}..{hex:7} 100644
Subproject commit {hex:40}
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64:43} {user}@{host}
ssh-rsa AAAAB3NzaC1yc2E{b64:300}= {user}
SHA256:{b64:43} {email} (ED25519)
-----BEGIN CERTIFICATE-----\n{pem:8}\n-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----\n{pem:4}\n-----END PUBLIC KEY-----
PublicKey = {b64:43}=
data:image/png;base64,iVBORw0KGgo{b64:120}
url(data:font/woff2;base64,d09GMgAB{b64:80})
//# sourceMappingURL=app.{hex:8}.js.map
<script src="/static/main.{hex:8}.chunk.js"></script>
at Object.<anonymous> (/srv/app/{word}/index.js:{dig:2}:{dig:2})
0x00007ff{hex:9} in malloc ()
00000010: {hex:4} {hex:4} {hex:4} {hex:4}  ................
password: str
password: string;
def reset_password(user, new_password):
if not check_password(password, user.password_hash):
the password must be at least {dig:2} characters long
Please enter your password to continue
I forgot my password again
Passwords are stored as hashes, never in clear
password authentication failed for user "{user}"
Password for {user}@{host}:
Enter passphrase for key '/home/{user}/.ssh/id_rsa':
SELECT id, password FROM users WHERE name = ?
UPDATE users SET password = ? WHERE id = {dig:4}
password = os.environ["DB_PASSWORD"]
password = getpass.getpass()
const password = req.body.password;
const apiKey = process.env.API_KEY;
api_key=os.getenv("OPENAI_API_KEY")
API_KEY=your-api-key-here
API_KEY=<your key>
export TOKEN=$(cat /run/secrets/token)
PASSWORD=${DB_PASSWORD}
password: "{{ vault_db_password }}"
token: ${{ secrets.GITHUB_TOKEN }}
PASSWORD=changeme
password: ********
apiKey: "xxxxxxxxxxxxxxxx"
secret = "REDACTED"
"password": null,
"password": "",
password_file: /run/secrets/db_password
secretKeyRef: {name: db, key: password}
token: string | undefined
max_tokens=4096
"total_tokens": {dig:5},
"prompt_tokens": {dig:4}, "completion_tokens": {dig:3}
tokens used: {dig:5}
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
next_page_token: null
the token expired after {dig:2} minutes
Invalid token at line {dig:3}
SyntaxError: Unexpected token '<'
Unexpected token } in JSON at position {dig:3}
token = next(stream)
csrf_token = generate_csrf()
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
-H "Authorization: Bearer ${API_TOKEN}"
the Authorization header must carry a bearer token
X-API-Key: YOUR_KEY
401 Unauthorized: missing API key
the API key is missing
the api key is stored in the vault
the key is in the vault, ask {user}
key: value
primary key: id
"key": "user.name"
key = lambda row: row[0]
sort_key = "created_at"
foreign_key: order_id
press the Escape key twice
KeyError: '{word}'
keyboard shortcut: Ctrl+Shift+P
public_key = load("{word}.pub")
the secret to good tests is small fixtures
Secret Manager, Vault and SSM compared
no secrets in the repository
secretary: Anna {word}
pin the version to {dig:1}.{dig:2}.{dig:1}
Pin: GPIO{dig:2}
we pass the config to the worker
Test passed in {dig:4} ms
pass: 128, fail: {dig:1}
bypass: true
compass: north
code: {dig:4}
exit code: {dig:3}
status code {dig:3}
error code 0x{hex:8}
zip code {dig:5}
country code: +49
verification failed for {dig:3} files
author: {user} <{email}>
authentication: required
auth: none
auth_method = oauth2
"grant_type": "client_credentials"
login: {user}
username: {user}
Cookie: theme=dark; lang=en
cookies are disabled
session started at 10:{dig:2}
session: {uuid}
https://{host}/docs/{word}/index.html
https://{host}/?page={dig:2}&sort=name
https://{host}/watch?v={b64u:11}
https://docs.google.com/document/d/{b64u:44}/edit
git@github.com:{user}/{word}.git
{user}@{host}:/srv/{word}
postgres://localhost:5432/{db}
postgresql://{user}@{host}/{db}
postgres://user:password@localhost/{db}
redis://{host}:6379/0
https://{user}:{{password}}@{host}
arn:aws:iam::{dig:12}:role/{word}
projects/{word}-{dig:6}/locations/us
order {dig:8} shipped
invoice no. {dig:10}
call +1 555 {dig:3} {dig:4}
Tel. 030 {dig:7}
tracking 1Z{UP:6}{dig:10}
ISBN 978-3-16-148410-0
EAN {dig:13}
unix time 17{dig:8}
ms 17{dig:11}
epoch_ns 17{dig:17}
telegram chat {dig:9}
lat 52.{dig:6}, lon 13.{dig:6}
192.168.{dig:2}.{dig:2}
fe80::{hex:4}:{hex:4}:{hex:4}:{hex:4}
{hex:2}:{hex:2}:{hex:2}:{hex:2}:{hex:2}:{hex:2}
version 2.{dig:2}.{dig:1}-rc.{dig:1}
node v20.{dig:2}.0
pkg/mod/github.com/{word}/{word}@v0.0.0-2024{dig:10}-{hex:12}
/nix/store/{an:32}-{word}-1.{dig:1}
~/.cache/pip/http/{hex:1}/{hex:1}/{hex:60}
~/.ssh/id_ed25519
node_modules/.pnpm/{word}@1.{dig:1}.0
.{word}_{b62:5} { color: #{hex:6} }
className="css-{an:6} {word}"
color: #{hex:8}
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
MIN_PASSWORD_LENGTH = {dig:2}
PASSWORD_RESET_TIMEOUT=3600
ENABLE_TOKEN_CACHE=true
TOKEN_TTL=15m
JWT_ALGORITHM=HS256
KEYCLOAK_URL=https://{host}
SECRET_NAME=prod/{word}/db
vault kv get secret/{word}/db
--password-stdin
mysql -u root -p {db}
curl -u {user} https://{host}
ssh -p 2222 {user}@{host}
docker run -p 8080:80 nginx
mkdir -p build/{word}
psql -U {user} -d {db}
use a strong password like the ones your manager makes
rotate the keys every {dig:2} days
should the token be in the header or the cookie?
what is the default password policy?
das Passwort muss geändert werden
le mot de passe est obligatoire
la contraseña es incorrecta
a senha é muito curta
пароль должен быть длиннее
密码不能为空
{word}_{word}_{word}_{word}
{Word}{Word}Factory{Word}Bean
[x] {word} {word}: see #{dig:4}
Closes #{dig:4}, see also {Word}-{dig:4}
abandon the plan, about half of it is absurd anyway
GB00 looks like a bank account but has no check digits
VAT DE{dig:9}
4111 items in 1111 boxes on 1111 shelves and 1112 pallets
SN: {UP:12}
model {UP:3}-{dig:4}
flight LH{dig:4}, seat 12A, booking code in the mail
MAX_CONNECTIONS=100
"""

# Only words of the list of BIP-39, from the memory of whoever has written down a seed once.
SEED: Final = (
    "abandon ability able about above absent absorb abstract absurd abuse access accident account accuse achieve acid "
    "acoustic acquire across act action actor actress actual adapt add addict address adjust admit adult advance advice "
    "zebra zero zone zoo legal winner thank year wave sausage worth useful letter panda eyebrow army cage hamster lake "
    "ocean monkey tiger river rocket salad school basket coffee guitar hockey island jungle kitchen lemon"
).split()
WORDS: Final = (
    "harbor willow copper velvet ginger meadow falcon pepper tundra breeze quartz marble cobalt nectar jasper "
    "thunder walnut orchid saturn beacon dragon sunset maple wizard coconut blizzard"
).split()
NAMES: Final = "anna bob deploy svc_app jsmith root2 mara kevin.lee ops backup_user".split()
HOSTS: Final = (
    "db.acme.io example-corp.net 10.2.0.14 build.internal shop.mymart.de prod-7.eu.cloudnine.com".split()
)
BANKS: Final = {"DE": 18, "GB": 18, "FR": 23, "NL": 14, "ES": 20, "IT": 23, "PL": 24, "CH": 17, "BE": 12, "AT": 16,
                "SE": 20, "PT": 21}  # fmt: skip
"""Characters after the check digits."""
B62: Final = string.ascii_letters + string.digits
ALPHABETS: Final = {
    "b62": B62,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "b64": B62 + "+/",
    "b64u": B62 + "-_",
    "b64url": B62,
    "b32": string.ascii_uppercase + "234567",
    "B32": string.ascii_uppercase + "234567",
    "b58": "".join(sorted(set(B62) - set("0OIl"))),
    "dig": string.digits,
    "low": string.ascii_lowercase + string.digits,
    "an": string.ascii_lowercase + string.digits,
    "UP": string.ascii_uppercase + string.digits,
    "alpha": string.ascii_letters,
    "AGE": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "AGElow": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "rand_q": B62 + "!#$%&()*+,-./:;=?@[]^_{|}~",
}
_DRAW = re.compile(r"\{([A-Za-z]\w*)(?::([\w,]+))?\}")
_MARK = re.compile(r"\[redacted:[^\]]*\]")
_SECRET = re.compile("«(.*?)»", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Case:
    """A text, and the secrets in it as they are written there; none for a look-alike."""

    family: str
    kind: str
    text: str
    secrets: tuple[str, ...]


def cases(seed: int) -> list[Case]:
    """One case a kind, as it is."""
    rng = Random(seed)
    return [_case(rng, family, template) for family, template in _kinds(SECRETS)]


def look_alikes(seed: int) -> list[Case]:
    """One text a kind that only looks like a secret, as it is or in a carrier in turn."""
    rng = Random(seed)
    made = [_case(rng, "look-alike", template) for _, template in _kinds("[look-alike]\n" + LOOK_ALIKES)]
    return [case if at % 2 else _carried(rng, case) for at, case in enumerate(made)]


def carried(seed: int) -> list[Case]:
    """Each case of `cases` inside a carrier that is drawn."""
    rng = Random(seed)
    return [_carried(rng, case) for case in cases(seed)]


def is_stored(case: Case, kept: str) -> bool:
    """Whether a third of a secret, at least 4 characters, is still readable in what was kept."""
    text = _letters(html.unescape(_MARK.sub(" ", kept)))
    around = _letters(html.unescape(_without(case)))
    return any(
        _readable(_letters(piece), text, around) for secret in case.secrets for piece in secret.splitlines()
    )


def lost_words(case: Case, kept: str) -> tuple[int, int]:
    """Words around the secrets that are gone, and how many there were; a key is meant to go with its frame."""
    if case.family == "key-block":
        return 0, 0
    around = Counter(re.findall(r"\w+", _without(case)))
    left = Counter(re.findall(r"\w+", _MARK.sub(" ", kept)))
    return (around - left).total(), around.total()


def _readable(secret: str, text: str, around: str) -> bool:
    length = min(len(secret), max(4, len(secret) // 3))
    windows = (secret[at : at + length] for at in range(len(secret) - length + 1))
    return bool(secret) and any(window in text and window not in around for window in windows)


def _without(case: Case) -> str:
    text = case.text
    for secret in case.secrets:
        for piece in secret.splitlines():
            text = text.replace(piece, " ")
    return text


def _letters(text: str) -> str:
    """Letters and digits alone, so that escapes and quotation marks of a carrier do not hide a secret."""
    return re.sub(r"[\W_]+", "", text)


def _kinds(table: str) -> Iterator[tuple[str, str]]:
    family = ""
    for line in table.strip().splitlines():
        if re.fullmatch(r"\[[a-z-]+\]", line):
            family = line[1:-1]
        else:
            yield family, line


def _case(rng: Random, family: str, template: str) -> Case:
    written = re.sub(r"(?<!\\)\\n", "\n", template).replace("\\\\", "\\").replace("\\t", "\t")
    marked = _DRAW.sub(lambda found: _drawn(rng, found), written)
    return Case(family, template, _SECRET.sub(r"\1", marked), tuple(_SECRET.findall(marked)))


def _drawn(rng: Random, found: re.Match[str]) -> str:
    name, argument = found[1], found[2] or ""
    if name in DRAWS:
        return DRAWS[name](rng, argument)
    if name in ALPHABETS and argument.isdigit():
        return _letters_of(rng, ALPHABETS[name], int(argument))
    return found[0]


def _letters_of(rng: Random, alphabet: str, count: int) -> str:
    return "".join(rng.choices(alphabet, k=count))


def _chosen(rng: Random, specials: str = "!#$%@?*") -> str:
    """A password as people choose them: a word or two with a capital, digits, a sign."""
    first, second = rng.sample(WORDS, 2)
    digits, sign = str(rng.randrange(10, 9999)), rng.choice(specials)
    swapped = first.translate(str.maketrans("aeo", "@30" if "@" in specials else "430")).capitalize()
    return rng.choice(
        (first.capitalize() + digits + sign, swapped + digits, sign + first.capitalize() + digits,
         first + second.capitalize() + digits, first.capitalize() + sign + second + digits)
    )  # fmt: skip


def _weak(rng: Random, _: str) -> str:
    first, second = rng.sample(WORDS, 2)
    digits = str(rng.randrange(1, 2030))
    return rng.choice(
        (first + digits, first.capitalize() + digits, f"{first}-{second}", first + second, first)
    )


def _random(rng: Random, specials: str) -> str:
    signs = [rng.choice(specials) for _ in range(rng.randrange(1, 4))]
    letters = list(_letters_of(rng, B62, rng.randrange(10, 18))) + signs
    middle = letters[1:]
    rng.shuffle(middle)
    return letters[0] + "".join(middle)


def _card(rng: Random, argument: str) -> str:
    prefix, length = argument.split(",")
    body = prefix + _letters_of(rng, string.digits, int(length) - len(prefix) - 1)
    total = sum(sum(divmod(int(digit) * (2 - at % 2), 10)) for at, digit in enumerate(reversed(body)))
    return body + str(-total % 10)


def _iban(rng: Random, country: str) -> str:
    bank = _letters_of(rng, string.ascii_uppercase, 4) if country in ("GB", "NL") else ""
    body = bank + _letters_of(rng, string.digits, BANKS[country] - len(bank))
    check = 98 - int("".join(str(int(sign, 36)) for sign in body + country + "00")) % 97
    return f"{country}{check:02}{body}"


def _in_groups(text: str, sign: str = " ") -> str:
    return sign.join(text[at : at + 4] for at in range(0, len(text), 4))


def _amex(rng: Random, prefix: str) -> str:
    card = _card(rng, f"{prefix},15")
    return f"{card[:4]} {card[4:10]} {card[10:]}"


def _jwt(rng: Random, _: str) -> str:
    parts = (
        {"alg": "HS256", "typ": "JWT"},
        {"sub": _letters_of(rng, string.digits, 8), "iat": rng.randrange(10**9)},
    )
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join((*coded, _letters_of(rng, ALPHABETS["b64u"], 43)))


def _pem(rng: Random, lines: str) -> str:
    return "\n".join(_letters_of(rng, ALPHABETS["b64"], 64) for _ in range(int(lines)))


def _coded(rng: Random, _: str) -> str:
    return base64.b64encode(_chosen(rng).encode()).decode()


def _basic(rng: Random, _: str) -> str:
    return base64.b64encode(f"{rng.choice(NAMES)}:{_chosen(rng)}".encode()).decode()


def _uuid(rng: Random, _: str) -> str:
    return "-".join(_letters_of(rng, ALPHABETS["hex"], count) for count in (8, 4, 4, 4, 12))


DRAWS: Final[dict[str, Callable[[Random, str], str]]] = {
    "pw": lambda rng, _: _chosen(rng),
    "pw_url": lambda rng, _: _chosen(rng, "!*"),
    "pw_xml": lambda rng, _: _chosen(rng, "!#*"),
    "weak": _weak,
    "rand": lambda rng, _: _random(rng, "!#$%^&*()-+=@?"),
    "rand_url": lambda rng, _: _random(rng, "!*-+~"),
    "plain": lambda rng, _: _letters_of(rng, B62, rng.randrange(14, 28)),
    "words": lambda rng, _: "-".join(rng.sample(WORDS, 4)),
    "phrase": lambda rng, _: " ".join(rng.sample(WORDS, 4)),
    "lowgroups": lambda rng, _: " ".join(_letters_of(rng, string.ascii_lowercase, 4) for _ in range(4)),
    "word": lambda rng, _: rng.choice(WORDS),
    "Word": lambda rng, _: rng.choice(WORDS).capitalize(),
    "user": lambda rng, _: rng.choice(NAMES),
    "host": lambda rng, _: rng.choice(HOSTS),
    "db": lambda rng, _: rng.choice(("orders", "app_prod", "crm", "billing")),
    "email": lambda rng, _: f"{rng.choice(WORDS)}.{rng.choice(WORDS)}@mail{rng.randrange(9)}.com",
    "card": _card,
    "grouped": lambda rng, argument: _in_groups(_card(rng, argument)),
    "dashed": lambda rng, argument: _in_groups(_card(rng, argument), "-"),
    "amex": _amex,
    "iban": _iban,
    "ibang": lambda rng, country: _in_groups(_iban(rng, country)),
    "pem": _pem,
    "jwt": _jwt,
    "b64of": _coded,
    "basic": _basic,
    "uuid": _uuid,
    "ssn": lambda rng, _: f"{rng.randrange(100, 665)}-{rng.randrange(10, 99)}-{rng.randrange(1000, 9999)}",
    "seed": lambda rng, count: " ".join(rng.sample(SEED, int(count))),
    "numbered": lambda rng, count: " ".join(
        f"{at + 1}. {w}" for at, w in enumerate(rng.sample(SEED, int(count)))
    ),
    "wif": lambda rng, _: rng.choice("KL") + _letters_of(rng, ALPHABETS["b58"], 51),
}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _each_line(before: Callable[[int], str], after: str = "") -> Callable[[Random, str], str]:
    return lambda _, text: "\n".join(before(at) + line + after for at, line in enumerate(text.split("\n"), 1))


def _logged(rng: Random, text: str) -> str:
    at = f"2025-03-{rng.randrange(1, 28):02}T10:{rng.randrange(60):02}:07.{rng.randrange(1000):03}Z"
    return "\n".join(f"{at} INFO  [worker-{rng.randrange(9)}] {line}" for line in text.split("\n"))


CARRIERS: Final[dict[str, Callable[[Random, str], str]]] = {
    "env file": lambda _, text: f"# local settings\nDEBUG=1\nPORT=8080\n{text}\nLOG_LEVEL=info\n",
    "log": _logged,
    "json": lambda _, text: '{"role": "tool", "content": ' + _quoted(text) + ', "ok": true}',
    "json in json": lambda _, text: '{"body": ' + _quoted('{"output": ' + _quoted(text) + "}") + "}",
    "yaml": lambda _, text: (
        "notes:\n  text: |\n" + "\n".join(f"    {line}" for line in text.split("\n")) + "\nend: 1\n"
    ),
    "html": lambda _, text: f"<pre class='out'>{html.escape(text)}</pre><p>That is all.</p>",
    "shell": lambda _, text: f"$ cat notes.txt\n{text}\n$ echo done\ndone\n",
    "chat": lambda _, text: f"Hi, as we said on the phone yesterday:\n{text}\nTell me when it works, thanks!",
    "numbered": _each_line(lambda at: f"{at + 40:6}\t"),
    "arrows": _each_line(lambda at: f"{at + 7:6}→"),
    "diff": _each_line(lambda _: "+"),
    "mail": _each_line(lambda _: "> "),
    "comment": _each_line(lambda _: "# "),
    "colours": _each_line(lambda _: "\x1b[32m", "\x1b[0m"),
    "compose": _each_line(lambda _: "db-1   | "),
    "grep": _each_line(lambda at: f"config/prod.txt:{at + 11}:"),
    "fence": lambda _, text: f"Look at this:\n```\n{text}\n```\nWhat is wrong?",
    "windows": lambda _, text: "first\r\n" + text.replace("\n", "\r\n") + "\r\nlast\r\n",
}


def _carried(rng: Random, case: Case) -> Case:
    name = rng.choice(sorted(CARRIERS))
    return Case(case.family, case.kind, CARRIERS[name](rng, case.text), case.secrets)
