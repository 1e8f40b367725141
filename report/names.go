package report

import (
	"fmt"
	"path"
	"regexp"
	"sort"
	"strings"
)

// shortNames gives each scheduler a name that fits a column head: of a path its last part, with the folder before it where two
// would be alike, and a number where they still are.
func shortNames(runs []Run) []string {
	names := make([]string, len(runs))
	seen := map[string]int{}
	for i, r := range runs {
		names[i] = lastParts(r.Name, 1)
		seen[names[i]]++
	}
	for i, r := range runs {
		if seen[names[i]] > 1 {
			names[i] = lastParts(r.Name, 2)
		}
	}
	used := map[string]int{}
	for i, n := range names {
		used[n]++
		if used[n] > 1 {
			names[i] = fmt.Sprintf("%s (%d)", n, used[n])
		}
	}
	return names
}

func lastParts(name string, n int) string {
	clean := strings.TrimRight(strings.ReplaceAll(name, `\`, "/"), "/")
	if clean == "" {
		return "unnamed"
	}
	short := path.Base(clean)
	if n == 2 {
		if dir := path.Base(path.Dir(clean)); dir != "." && dir != "/" {
			return dir + "/" + short
		}
	}
	return short
}

// span is a piece of a sentence, set in bold when it is a scheduler's name.
type span struct {
	Text string
	Bold bool
}

var hyphenMinus = regexp.MustCompile(`(^|[\s(])-(\d)`)

// typeset puts the signs of print in the place of those of a terminal.
func typeset(sentence string) string {
	return hyphenMinus.ReplaceAllString(strings.ReplaceAll(sentence, "+-", "±"), "${1}"+minus+"${2}")
}

// emphasise cuts a sentence at the names of schedulers, so that the eye finds them.
func emphasise(sentence string, names []string) []span {
	sentence = typeset(sentence)
	var words []string
	for _, n := range names {
		if len(n) > 1 && len(n) < 80 {
			words = append(words, regexp.QuoteMeta(n))
		}
	}
	if len(words) == 0 || len(words) > 50 {
		return []span{{Text: sentence}}
	}
	sort.SliceStable(words, func(i, j int) bool { return len(words[i]) > len(words[j]) })
	found := regexp.MustCompile(`(^|[\s(,;:])(` + strings.Join(words, "|") + `)($|[\s),;:.'])`)
	var out []span
	for rest := sentence; rest != ""; {
		at := found.FindStringSubmatchIndex(rest)
		if at == nil {
			return append(out, span{Text: rest})
		}
		if at[4] > 0 {
			out = append(out, span{Text: rest[:at[4]]})
		}
		out = append(out, span{Text: rest[at[4]:at[5]], Bold: true})
		rest = rest[at[5]:]
	}
	return out
}
