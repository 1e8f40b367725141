// Package alike says which applications are of one kind: those that come again. Predictions draw from earlier ones of the same kind, and changes are judged on
// them.
package alike

import (
	"strings"
	"unicode"
)

// Kind is what applications have in common; an empty field matches all.
type Kind struct{ User, Family, Queue string }

// Kinds lists the kinds of an application, narrowest first: user and name, user, queue, all.
func Kinds(user, name, queue string) []Kind {
	queue = leaf(queue)
	return []Kind{{user, family(name), queue}, {user, family(name), ""}, {user, "", queue}, {"", "", queue}, {}}
}

// leaf is the last part of a queue's name: versions of YARN differ in whether they show all of it.
func leaf(queue string) string { return queue[strings.LastIndexByte(queue, '.')+1:] }

// family is a name without what changes from run to run: dates, counters, ids.
func family(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, name)
}
