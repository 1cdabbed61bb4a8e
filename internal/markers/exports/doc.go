// Package exports reads what consumers already publish of their work in the format of Prometheus, from themselves or from a server that
// scrapes them, and adds it up into counters that only rise.
package exports
