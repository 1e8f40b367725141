package circuit

import "math"

// Assign matches rows to columns for the max total weight (the Hungarian algorithm, O(n^3)). weight holds n rows of n weights from 0. It returns the
// column of each row; -1: none, since its weight would be 0.
func Assign(weight []int64, n int) []int32 {
	const none = 0
	// Potentials of rows and columns, numbered from 1; row[c] is the row of column c, and column 0 holds the row being added.
	u, v := make([]int64, n+1), make([]int64, n+1)
	row, way := make([]int, n+1), make([]int, n+1)
	slack, seen := make([]int64, n+1), make([]bool, n+1)
	for r := 1; r <= n; r++ {
		row[0] = r
		column := 0
		for c := range slack {
			slack[c], seen[c] = math.MaxInt64, false
		}
		for row[column] != none {
			seen[column] = true
			source, delta, next := row[column], int64(math.MaxInt64), 0
			for c := 1; c <= n; c++ {
				if seen[c] {
					continue
				}
				if s := -weight[(source-1)*n+c-1] - u[source] - v[c]; s < slack[c] {
					slack[c], way[c] = s, column
				}
				if slack[c] < delta {
					delta, next = slack[c], c
				}
			}
			for c := 0; c <= n; c++ {
				if seen[c] {
					u[row[c]] += delta
					v[c] -= delta
				} else {
					slack[c] -= delta
				}
			}
			column = next
		}
		for column != 0 {
			row[column] = row[way[column]]
			column = way[column]
		}
	}
	out := make([]int32, n)
	for i := range out {
		out[i] = -1
	}
	for c := 1; c <= n; c++ {
		if r := row[c]; weight[(r-1)*n+c-1] > 0 {
			out[r-1] = int32(c - 1)
		}
	}
	return out
}
