//go:build !linux

package cli

func asInit() (code int, is bool) { return 0, false }
