package httpapi

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weirgate/weir/gateway/internal/fault"
)

// checkHost refuses names that are not this server's. It is what stops a web page from reaching a
// loopback gateway through a name of its own that resolves to 127.0.0.1 (DNS rebinding).
func checkHost(r *http.Request, set Settings) error {
	if set.AnyHost || slices.Contains(set.Hosts, "*") {
		return nil
	}
	name := hostname(r.Host)
	if loopbackName(name) || slices.ContainsFunc(set.Hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return nil
	}
	return fault.At(fault.Forbidden, "host", "host %s is not served here, add it to server.hosts", printable(name))
}

func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.Trim(host, "[]")
}

func loopbackName(name string) bool {
	if strings.EqualFold(name, "localhost") || strings.HasSuffix(strings.ToLower(name), ".localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// checkOrigin refuses requests that a web page of another origin makes: the default tenant takes any
// key, so a page must not be able to drive it. Clients that are not browsers send no Origin.
func checkOrigin(r *http.Request, set Settings) error {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(set.Origins, "*") || slices.Contains(set.Origins, origin) {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return fault.At(fault.Forbidden, "origin", "origin %s is not allowed, add it to server.origins", printable(origin))
}
