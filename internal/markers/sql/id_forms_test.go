package sql

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestIDsThatMayDifferInCaseAloneAreToldFromThoseThatDoNot(t *testing.T) {
	many := func(id func(i int) string) (ids []string) {
		for i := range 2000 {
			ids = append(ids, id(i))
		}
		return ids
	}
	token := func(int) string {
		raw := make([]byte, 16)
		_, _ = rand.Read(raw)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	beyond := []dedup.IDDifference{dedup.AccentsDiffer, dedup.WidthDiffers, dedup.FormsDiffer}
	for _, tt := range []struct {
		name   string
		ids    []string
		want   []dedup.IDDifference
		inBoth string
	}{
		{"none", nil, nil, ""},
		{"an empty one", []string{""}, nil, ""},
		{"numbers behind one word", many(func(i int) string { return fmt.Sprintf("Order-%05d", i) }), nil, ""},
		{"hashes in small letters", many(func(i int) string { return fmt.Sprintf("%032x", i*7919) }), nil, ""},
		{"words of different lengths", []string{"order-7-EU", "customer-7", "ORDER-7"}, nil, ""},
		{"tokens of random letters", many(token), nil, ""},
		{"two that differ in case alone", []string{"x-abc", "x-ABD", "x-ABC"}, []dedup.IDDifference{dedup.CaseDiffers}, "x-ABD"},
		{"UUIDs of two writers", []string{"f47ac10b-58cc-4372-a567-0e02b2c3d479", "F47AC10B-58CC-4372-A567-0E02B2C3D470"}, []dedup.IDDifference{dedup.CaseDiffers}, "F47AC10B-58CC-4372-A567-0E02B2C3D470"},
		{"some beside tokens", append(many(token), many(func(i int) string {
			return []func(string) string{strings.ToUpper, strings.ToLower}[i%2](fmt.Sprintf("evt-%05d", i/2))
		})...), []dedup.IDDifference{dedup.CaseDiffers}, "evt-00000"},
		{"an accent", []string{"café-1"}, beyond, ""},
		{"ideographs", []string{"订单-1"}, nil, ""},
		{"full width", []string{"ｏrder-1"}, beyond, ""},
		{"bytes that are no text", []string{"\xff\xfe"}, beyond, ""},
		{"a blank at the end", []string{"order-1 "}, []dedup.IDDifference{dedup.BlanksDiffer}, ""},
		{"longer ones than are compared", []string{strings.Repeat("a", 500), strings.Repeat("a", 499) + "B"}, nil, ""},
		{"long ones whose last letter differs in case", []string{strings.Repeat("a", 200) + "b", strings.Repeat("a", 200) + "B"}, []dedup.IDDifference{dedup.CaseDiffers}, strings.Repeat("a", 200) + "B"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var forms idForms
			for _, id := range tt.ids {
				forms.add([]byte(id))
			}
			if in, inBoth := forms.differ(); !slices.Equal(in, tt.want) || inBoth != tt.inBoth {
				t.Errorf("differ in %q (%q), want %q (%q)", in, inBoth, tt.want, tt.inBoth)
			}
		})
	}
}
