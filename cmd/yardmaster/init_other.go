//go:build !linux

package main

func asInit() (code int, is bool) { return 0, false }
