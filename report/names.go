package report

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// labelWidth is the maximum length of a file name used as a label unchanged.
const labelWidth = 24

// Labels names schedulers in columns, legends and sentences: short and unique. For a file it is the base name, or the folder or the
// word by which it differs from the others; for a policy with parameters it omits those that all its variants share; for one
// scheduler under several steering policies it is the policy.
func Labels(full []string) []string {
	labels, steered := make([]string, len(full)), make([]string, len(full))
	files, variants := map[int][]string{}, map[string][]int{}
	for i, name := range full {
		labels[i], steered[i], _ = strings.Cut(name, " + ")
		path := strings.Trim(strings.ReplaceAll(labels[i], `\`, "/"), "/")
		if policy, _, params := strings.Cut(labels[i], ":"); params && len(policy) > 1 { // one letter is a drive
			variants[policy] = append(variants[policy], i)
		} else if path == "" {
			labels[i] = "unnamed"
		} else if strings.ContainsRune(path, '/') || strings.HasSuffix(path, ".xml") {
			files[i] = strings.Split(path, "/")
		}
	}
	for i, path := range files {
		labels[i] = fileLabel(path, files)
	}
	for policy, of := range variants {
		if len(of) > 1 {
			dropShared(labels, policy, of)
		}
	}
	one := !slices.ContainsFunc(labels, func(l string) bool { return l != labels[0] })
	used := map[string]int{}
	for i := range labels {
		if steered[i] != "" {
			if labels[i] += " + " + steered[i]; one {
				labels[i] = steered[i]
			}
		}
		if used[labels[i]]++; used[labels[i]] > 1 {
			labels[i] = fmt.Sprintf("%s (%d)", labels[i], used[labels[i]])
		}
	}
	return labels
}

// fileLabel names one of several files.
func fileLabel(path []string, all map[int][]string) string {
	base := path[len(path)-1]
	depth, twins := 1, false // depth: path components from the end that distinguish the file
	var long [][]string      // words of all long names
	for _, other := range all {
		if name := other[len(other)-1]; len(name) > labelWidth {
			long = append(long, words(name))
		}
		if slices.Equal(path, other) || other[len(other)-1] != base {
			continue
		}
		k := 1
		for k < len(path) && k < len(other) && path[len(path)-k] == other[len(other)-k] {
			k++
		}
		if path[len(path)-k] == other[len(other)-k] { // one is the end of the other
			k = min(k+1, len(path))
		}
		depth, twins = max(depth, k), true
	}
	label := strings.Join(path[len(path)-depth:], "/")
	switch {
	case len(label) <= labelWidth:
		return label
	case twins:
		return path[len(path)-depth]
	case len(long) > 1:
		return distinct(words(base), long)
	}
	return base
}

// words cuts a file's name, without its extension, at hyphens, underscores and dots.
func words(name string) []string {
	return strings.FieldsFunc(strings.TrimSuffix(name, path.Ext(name)), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
}

// distinct drops the leading words that all names share, but never all words.
func distinct(name []string, all [][]string) string {
	at := 0
	for ; at < len(name)-1; at++ {
		if slices.ContainsFunc(all, func(other []string) bool { return at >= len(other)-1 || other[at] != name[at] }) {
			break
		}
	}
	return strings.Join(name[at:], "-")
}

// dropShared removes the parameters that all variants of a policy share from their labels.
func dropShared(labels []string, policy string, of []int) {
	count := map[string]int{}
	params := make([][]string, len(of))
	for k, i := range of {
		params[k] = strings.Split(strings.TrimPrefix(labels[i], policy+":"), ",")
		for _, p := range params[k] {
			count[p]++
		}
	}
	for k, i := range of {
		own := slices.DeleteFunc(params[k], func(p string) bool { return count[p] == len(of) })
		if labels[i] = policy; len(own) > 0 {
			labels[i] += ":" + strings.Join(own, ",")
		}
	}
}

// piece is a part of a sentence, set in bold when it is a scheduler's name.
type piece struct {
	Text string
	Bold bool
}

var hyphenMinus = regexp.MustCompile(`(^|[\s(])-(\d)`)

// typeset replaces ASCII characters by their typographic forms.
func typeset(sentence string) string {
	return unit.NoBreak(hyphenMinus.ReplaceAllString(strings.NewReplacer("+-", "±", "->", "→").Replace(sentence), "${1}"+minus+"${2}"))
}

// emphasise splits a sentence at the names of schedulers, to set them in bold.
func emphasise(sentence string, names []string) []piece {
	sentence = typeset(sentence)
	var words []string
	for _, n := range names {
		if len(n) > 1 && len(n) < 80 {
			words = append(words, regexp.QuoteMeta(n))
		}
	}
	if len(words) == 0 || len(words) > 50 {
		return []piece{{Text: sentence}}
	}
	sort.SliceStable(words, func(i, j int) bool { return len(words[i]) > len(words[j]) })
	found := regexp.MustCompile(`(^|[\s(,;:])(` + strings.Join(words, "|") + `)($|[\s),;:.'])`)
	var out []piece
	for rest := sentence; rest != ""; {
		at := found.FindStringSubmatchIndex(rest)
		if at == nil {
			return append(out, piece{Text: rest})
		}
		if at[4] > 0 {
			out = append(out, piece{Text: rest[:at[4]]})
		}
		out = append(out, piece{Text: rest[at[4]:at[5]], Bold: true})
		rest = rest[at[5]:]
	}
	return out
}
