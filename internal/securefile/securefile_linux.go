package securefile

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	accessList = "system.posix_acl_access"
	label      = "security.selinux"
)

// copyAttributes copies the access list, the SELinux label and user attributes. A list that the file inherited from its folder is removed if the
// other has none. Attributes that attest the content, such as IMA's, would be wrong for other content and are omitted.
func copyAttributes(to, from *os.File) error {
	fail := func(name string, err error) error {
		return &os.PathError{Op: "copy attribute " + name + " of", Path: from.Name(), Err: err}
	}
	names, err := attributes(from)
	if err != nil {
		return fail("list", err)
	}
	inherited := true
	for _, name := range names {
		if name != accessList && name != label && !strings.HasPrefix(name, "user.") {
			continue
		}
		value := make([]byte, 64<<10) // the kernel's maximum
		n, err := unix.Fgetxattr(int(from.Fd()), name, value)
		if err == nil {
			err = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
		if err != nil {
			return fail(name, err)
		}
		inherited = inherited && name != accessList
	}
	if inherited {
		if err := unix.Fremovexattr(int(to.Fd()), accessList); err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP) {
			return fail(accessList, err)
		}
	}
	return nil
}

func attributes(f *os.File) ([]string, error) {
	list := make([]byte, 64<<10) // likewise
	n, err := unix.Flistxattr(int(f.Fd()), list)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(list[:n]), func(r rune) bool { return r == 0 }), nil
}

func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if err == nil || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return &os.PathError{Op: "reserve space for", Path: f.Name(), Err: err}
}

func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS): // the file system cannot; the kernel cannot
		err = errors.ErrUnsupported
	}
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
}
