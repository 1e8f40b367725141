package conf

// didYouMean is "; did you mean X?" for the known name nearest to what was written, or "".
func didYouMean(written string, known []string) string {
	best, least := "", 1<<30
	for _, k := range known {
		if d := slips(written, k); d < least {
			best, least = k, d
		}
	}
	if best == "" || least > slack(best) {
		return ""
	}
	return "; did you mean " + best + "?"
}

// near says whether written is probably a slip for name.
func near(written, name string) bool { return slips(written, name) <= slack(name) }

func slack(name string) int { return max(1, min(3, len(name)/4)) }

// slips counts the letters to add, drop, change or swap with a neighbour. It is large for strings of very different length.
func slips(a, b string) int {
	if d := len(a) - len(b); d > 3 || d < -3 || len(a) > 200 {
		return 1 << 20
	}
	var before, last, row [204]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
