package server

import (
	"fmt"
	"regexp"
	"strings"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

// masked returns a marker as a role may see it: every marker that is shown, in whatever form, has passed here. Values can be
// payload, and the owner of a lock can be the token that ends it. So admins see both; operators see the shape of a value
// that could not be decoded, viewers nothing of it; and both see of an owner a keyed hash, by which two owners can be told apart.
func (s masker) masked(m dedup.Marker, who auth.Principal) dedup.Marker {
	if who.Can(adminRole) {
		return m
	}
	m.Owner = s.owner(m.Owner)
	if m.State == dedup.StateUnknown {
		m.Status = "" // it is no status then, but what stands in its place
	}
	if who.Can(auth.Operator) {
		m.Sample = maskValue([]byte(m.Sample))
	} else {
		m.Sample = ""
	}
	return m
}

// detailText is what pages say of a masked marker: its detail, and the beginning of a value that could not be decoded as far
// as the mask left it.
func detailText(m dedup.Marker) string {
	if m.Sample == "" {
		return m.Detail
	}
	return strings.TrimPrefix(m.Detail+": "+m.Sample, ": ")
}

// holders matches the owners of a lock of Redisson: a client's UUID and its thread. They name a consumer and are no secret.
var holders = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+(, [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+)*$`)

// owner hides an owner that may be a token: who knows the token of a lock can end it.
func (s masker) owner(owner string) string {
	if owner == "" || holders.MatchString(owner) {
		return owner
	}
	return fmt.Sprintf("keyed:%s, %s", s.keyed(owner)[:12], show.Counted(len(owner), "byte"))
}
