package rest

import (
	"strings"
	"testing"
)

// An answer of brackets and commas alone is refused before it is decoded; one of named values is not, however long.
func TestDenseAnswers(t *testing.T) {
	for text, want := range map[string]bool{
		"[" + strings.Repeat("0,", 10_000) + "0]":                           false,
		"[" + strings.Repeat(`{"a":0},`, 10_000) + "0]":                     false,
		"[" + strings.Repeat(`{"id":"application_1_0001"},`, 10_000) + "0]": true,
		`["` + strings.Repeat(`,[{\"`, 10_000) + `"]`:                       true,
		"[" + strings.Repeat("0,", 1000) + "0]":                             true,
	} {
		if _, err := lookUp([]byte(text)); (err == nil) != want {
			t.Errorf("%.40s...: %v", text, err)
		}
	}
}
