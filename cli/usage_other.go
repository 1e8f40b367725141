//go:build !unix

package cli

// usage is unknown here.
func usage() (seconds float64, peak int64) { return 0, 0 }
