package yard

import (
	"errors"
	"os"
	"syscall"
)

// sameAccess gives a file the access list and the security label of another, where that has any: a mode alone would shut out those whom the
// list lets read it.
func sameAccess(f *os.File, of string) error {
	for _, name := range []string{"system.posix_acl_access", "security.selinux"} {
		value := make([]byte, 64<<10) // the most that the kernel keeps
		n, err := syscall.Getxattr(of, name, value)
		if errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.ENOTSUP) {
			continue
		}
		if err == nil {
			err = syscall.Setxattr(f.Name(), name, value[:n], 0)
		}
		if err != nil {
			return &os.PathError{Op: "keep " + name + " of", Path: of, Err: err}
		}
	}
	return nil
}
