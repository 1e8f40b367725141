// Package suggest corrects typos.
//
// Two words are as far apart as the fewest letters that must be inserted, dropped, replaced or swapped with their
// neighbour to turn one into the other (the restricted Damerau-Levenshtein distance). A candidate is offered only when
// it is near: at most a third of the typed letters, and never fewer than one, may differ.
package suggest

import "strings"

// Closest returns the candidate nearest to word, and whether it is near enough to be worth a mention. Case does not
// count. Among equals the earlier candidate wins.
func Closest(word string, candidates []string) (string, bool) {
	if len(word) > longest {
		return "", false
	}
	w := strings.ToLower(word)
	best, bestDistance := "", max(1, len(w)/3)+1
	for _, c := range candidates {
		if len(c) > longest || len(c) < len(w)-bestDistance {
			continue
		}
		d := distance(w, strings.ToLower(c))
		if d > 0 && len(w) >= 3 && strings.HasPrefix(strings.ToLower(c), w) {
			d = 1 // an abbreviation
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best, best != ""
}

// Hint is Closest as the end of a sentence: `; did you mean "fair"?`, or nothing.
func Hint(word string, candidates []string) string {
	if c, ok := Closest(word, candidates); ok {
		return `; did you mean "` + c + `"?`
	}
	return ""
}

// longest bounds the words that are compared: longer ones are not typos.
const longest = 128

func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before := make([]int, len(t)+1) // row i-2
	last := make([]int, len(t)+1)   // row i-1
	row := make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			change := 1
			if s[i-1] == t[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
}
