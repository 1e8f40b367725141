package securefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// acl is an access list that lets one more account read, with the mask given.
func acl(account, mask uint32) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2) // its version
	for _, e := range [][3]uint32{{0x01, 6, 0xffffffff}, {0x02, 6, account}, {0x04, 4, 0xffffffff}, {0x10, mask, 0xffffffff}, {0x20, 0, 0xffffffff}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	return list
}

func attribute(t *testing.T, path, name string) []byte {
	t.Helper()
	value := make([]byte, 1024)
	n, err := unix.Getxattr(path, name, value)
	if errors.Is(err, unix.ENODATA) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return value[:n]
}

func copied(t *testing.T, from string) string {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	temp, err := NewTemp(from + "2")
	if err != nil {
		t.Fatal(err)
	}
	defer temp.Discard()
	if err := CopyAccess(temp.File, f); err != nil {
		t.Fatal(err)
	}
	if err := temp.Commit(); err != nil {
		t.Fatal(err)
	}
	return from + "2"
}

func TestCopyAccess(t *testing.T) {
	dir := tempDir(t)
	from := write(t, filepath.Join(dir, "from"), "")
	if err := os.Chmod(from, 0o640); err != nil {
		t.Fatal(err)
	}
	if us == 0 {
		if err := os.Chown(from, stranger, stranger); err != nil {
			t.Fatal(err)
		}
	}
	list := acl(12345, 4)
	if err := errors.Join(unix.Setxattr(from, accessList, list, 0), unix.Setxattr(from, "user.note", []byte("kept"), 0)); err != nil {
		t.Skip("no access lists here:", err)
	}
	to := copied(t, from)
	if got := attribute(t, to, accessList); !bytes.Equal(got, list) {
		t.Errorf("access list %x, want %x", got, list)
	}
	if got := attribute(t, to, "user.note"); string(got) != "kept" {
		t.Errorf("user attribute %q", got)
	}
	info, err := os.Stat(to)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info.Mode(), err)
	}
	if s, want := info.Sys().(*syscall.Stat_t), uint32(stranger); us == 0 && (s.Uid != want || s.Gid != want) {
		t.Errorf("owner %d:%d", s.Uid, s.Gid)
	}
}

// A list that the folder hands down to new files does not let anybody in whom the old file kept out.
func TestInheritedAccessListGoes(t *testing.T) {
	dir := tempDir(t)
	from := write(t, filepath.Join(dir, "from"), "")
	if err := unix.Setxattr(dir, "system.posix_acl_default", acl(12345, 6), 0); err != nil {
		t.Skip("no access lists here:", err)
	}
	to := copied(t, from)
	if got := attribute(t, to, accessList); got != nil {
		t.Errorf("access list %x, want none", got)
	}
}

func TestExchange(t *testing.T) {
	dir := tempDir(t)
	a, b := write(t, filepath.Join(dir, "a"), "A"), write(t, filepath.Join(dir, "b"), "B")
	err := Exchange(a, b)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || read(t, a) != "B" || read(t, b) != "A" {
		t.Errorf("%v: %s %s", err, read(t, a), read(t, b))
	}
	if err := Exchange(a, filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
