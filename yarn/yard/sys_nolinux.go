//go:build !linux

package yard

import "os"

func sameAccess(*os.File, string) error { return nil }
