package mask

import "slices"

// Words are the words that hide the value of a JSON member or header whose name holds one, unless the configuration says otherwise.
// Of two words with a dot between them the second counts inside objects that the first one names: what is the name of a product elsewhere
// is the name of a person there. Case, and what stands between the words of a name, make no difference; ä is ae, ß is ss.
func Words() []string {
	return slices.Concat(
		[]string{ // what lets somebody in
			"password", "passwd", "pwd", "pass", "pw", "passphrase", "passcode", "secret", "token", "jwt", "bearer", "authorization", "auth", "oauth", "cookie", "session", "credential",
			"private_key", "api_key", "access_key", "account_key", "subscription_key", "signing_key", "encryption_key", "ssh_key", "signature", "sig", "pin", "otp", "totp", "mfa",
			"verification_code", "security_code", "dsn", "connection_string", "conn_str", "argsrepr",
			"passwort", "passwörter", "kennwort", "kennwörter", "geheim", "zugangsdaten", "anmeldedaten", "api_schlüssel", "privater_schlüssel", "zugriffsschlüssel", "zugangsschlüssel",
			"密码", "密碼", "口令", "密钥", "密鑰", "私钥", "令牌", "验证码", "驗證碼", "凭证", "mima",
		},
		[]string{ // money, and papers that say who somebody is
			"card", "cvv", "cvc", "pan", "iban", "bic", "account_number", "bank_account", "routing_number", "sort_code", "salary",
			"ssn", "social_security", "tax_id", "tax_number", "national_id", "id_card", "identity_number", "identification_number", "passport", "driver_license", "driving_licence", "license_plate",
			"kreditkarte", "kartennummer", "kartenprüf", "kontonummer", "bankverbindung", "kontoinhaber", "karteninhaber", "gehalt", "steuernummer", "steuer_id", "ausweis", "reisepass", "führerschein",
			"sozialversicherung", "krankenversicherung",
			"银行卡", "銀行卡", "信用卡", "卡号", "卡號", "账号", "帳號", "账户", "帳戶", "身份证", "身分證", "证件号", "證件號", "护照", "護照", "社保", "税号", "工资", "车牌", "sfzh", "shenfenzheng", "yinhangka",
		},
		[]string{ // how to find and reach a person
			"email", "mail", "mailto", "phone", "mobile", "fax", "address", "street", "postal_code", "post_code", "zip_code", "imei",
			"birth", "birthday", "dob", "gender", "religion", "ethnicity", "diagnosis", "firstname", "lastname", "fullname", "surname", "maiden_name", "given_name", "family_name",
			"telefon", "handy", "handynummer", "mobilnummer", "rufnummer", "festnetz", "adresse", "anschrift", "straße", "hausnummer", "plz", "postleitzahl", "wohnort",
			"geburt", "geschlecht", "vorname", "nachname", "familienname", "ansprechpartner",
			"手机", "手機", "电话", "電話", "邮箱", "郵箱", "邮件", "地址", "住址", "微信", "姓名", "联系人", "联系方式", "聯絡人", "收件人", "收货人", "生日", "出生", "性别", "shouji", "xingming", "dianhua", "youxiang",
		},
		personWords(),
	)
}

// personWords are the objects inside which a name is that of a person.
func personWords() []string {
	objects := []string{
		"customer", "person", "contact", "user", "recipient", "receiver", "sender", "buyer", "client", "owner", "holder", "payer", "payee", "patient", "employee", "passenger",
		"guest", "member", "billing", "shipping", "kunde", "empfänger", "absender", "besteller", "mitarbeiter", "客户", "用户",
	}
	for i := range objects {
		objects[i] += ".name"
	}
	return objects
}

// glueWords stand beside a short word in names that are written without anything between their words: cardnumber, userpan, newpin. With
// them, and only with them, a short word counts inside another one: pan in pannumber, and neither in company nor in span.
func glueWords() []string {
	return []string{
		"number", "no", "num", "nr", "nummer", "id", "code", "key", "hash", "value", "data", "info", "text", "plain", "raw", "enc", "encrypted", "digest", "string", "url", "uri", "addr", "list", "type",
		"name", "holder", "owner", "user", "customer", "client", "admin", "root", "master", "service", "login", "account", "acct", "bank", "credit", "debit", "gift", "sim", "chip", "visa",
		"new", "old", "current", "my", "confirm", "repeat", "retype", "reset", "default", "temp", "db", "database", "redis", "mysql", "postgres", "sql", "mq", "amqp", "smtp", "ftp", "ssh", "ldap",
		"api", "app", "web", "http", "proxy", "basic", "access", "refresh", "work", "home", "office", "private", "primary", "billing", "shipping", "delivery", "sms", "from", "reply",
	}
}

// harmlessWords hold a word of Words and mean something else.
func harmlessWords() []string {
	return []string{
		"secretary", "obsession", "automobile", "microphone", "microphones", "headphone", "headphones", "saxophone", "tokenizer", "tokenized", "addressable", "reborn", "rebirth", "geheimrat",
	}
}

// SameWord reports whether two words hide the same.
func SameWord(a, b string) bool {
	objectA, memberA, dottedA := cutWord(a)
	objectB, memberB, dottedB := cutWord(b)
	return objectA == objectB && memberA == memberB && dottedA == dottedB
}
