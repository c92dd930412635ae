package config

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// The rules of texts. Each says what is wanted as a fault ends.
var (
	isAddress = rule{want: `host:port, such as "127.0.0.1:8000"`, ok: func(s string) bool {
		host, port, err := net.SplitHostPort(s)
		if err != nil || strings.ContainsFunc(host, notHost) {
			return false
		}
		n, err := strconv.ParseUint(port, 10, 16)
		return err == nil && strconv.FormatUint(n, 10) == port
	}}
	isHost = rule{want: `a host name or address without port, such as "weir.example.com"`, ok: func(s string) bool {
		if _, err := netip.ParseAddr(s); err == nil {
			return true
		}
		return s != "" && len(s) <= 253 && !strings.ContainsFunc(s, notHost) && !strings.Contains(s, ":")
	}}
	isOrigin = rule{want: `scheme://host[:port], such as "https://chat.example.com"`, ok: func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
			strings.EqualFold(s, u.Scheme+"://"+u.Host) && !strings.Contains(s, "*")
	}}
	isURL = rule{want: `an http or https URL without query, such as "http://127.0.0.1:8080/v1"`, ok: func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
			u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(s, "#")
	}, show: func(s string) string {
		if strings.Contains(s, "@") {
			return "a URL with credentials, which belong into api_key_env"
		}
		return showText(s)
	}}
	isPath = rule{want: "a path: absolute, from the file's folder, or from ~/", ok: isPathText}
	isName = rule{want: "a name of at most 64 lower-case letters, digits and -_.", ok: func(s string) bool {
		return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
		})
	}}
	isModelID = rule{want: "a model name of at most 128 letters, digits and -_.:/@+[]", ok: func(s string) bool {
		return s != "" && len(s) <= maxModelName && !strings.ContainsFunc(s, notModel)
	}}
	isAlias = rule{want: "a model name of at most 128 letters, digits and -_.:/@+[], with * for any text", ok: func(s string) bool {
		return s != "" && len(s) <= maxModelName && !strings.ContainsFunc(strings.ReplaceAll(s, "*", ""), notModel) &&
			strings.Count(s, "*") <= 4 && !strings.Contains(s, "**")
	}}
	isLabel = rule{want: "at most 256 printable characters", ok: func(s string) bool {
		return len(s) <= 256 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	}}
	isKeyHash = rule{want: `"sha256:" and 64 hex digits, as "weir keys new" prints them`, ok: func(s string) bool {
		digits, ok := strings.CutPrefix(s, "sha256:")
		_, err := hex.DecodeString(digits)
		return ok && err == nil && len(digits) == 64
	}, show: showLength}
	isDigest = rule{want: `the 64 hex digits of a SHA-256, as "weir plugin inspect" prints them`, ok: func(s string) bool {
		_, err := hex.DecodeString(s)
		return err == nil && len(s) == 64
	}}
	isPublicKey = rule{want: "the 32 bytes of an Ed25519 public key in base64", ok: func(s string) bool {
		b, err := base64.StdEncoding.DecodeString(s)
		return err == nil && len(b) == ed25519.PublicKeySize
	}, show: showLength}
	isKeyPlace = rule{want: `"env:NAME" or "file:/path", which says where the key is: the key itself does not belong into this file`, ok: func(s string) bool {
		if name, ok := strings.CutPrefix(s, "env:"); ok {
			return isVariableName(name)
		}
		path, ok := strings.CutPrefix(s, "file:")
		return ok && path != "" && isPathText(path)
	}, show: showLength}
	isVariable = rule{want: "the name of an environment variable in capitals", ok: isVariableName, show: showLength}
)

func isVariableName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	})
}

func isPathText(s string) bool {
	return !strings.ContainsRune(s, 0) && (!strings.HasPrefix(s, "~") || s == "~" || strings.HasPrefix(s, "~/"))
}

// maxModelName bounds ids, aliases and what a client may ask for, in bytes.
const maxModelName = 128

// orEmpty lets a text be empty, which stands for none.
func orEmpty(r rule) rule {
	return rule{want: r.want + `, or ""`, ok: func(s string) bool { return s == "" || r.ok(s) }, show: r.show}
}

func notHost(r rune) bool {
	return !isBareRune(r) && r != '.' && r != ':' && r != '%'
}

func notModel(r rune) bool {
	return !isBareRune(r) && !strings.ContainsRune(".:/@+[]", r)
}

func isBareRune(r rune) bool { return r < 0x80 && isBare(byte(r)) }

// showLength tells of a text that may be a secret pasted in the wrong place.
func showLength(s string) string { return "a text of " + count(len(s), "byte") }
