package conf

import "github.com/yardmaster/yardmaster/internal/suggest"

// didYouMean is "; did you mean X?" for the known name nearest to what was written, or "".
func didYouMean(written string, known []string) string {
	if best, ok := suggest.Closest(written, known); ok {
		return "; did you mean " + best + "?"
	}
	return ""
}

// near says whether written is probably a slip for name.
func near(written, name string) bool {
	_, ok := suggest.Closest(written, []string{name})
	return ok
}
