package history

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
)

// names replaces the names of users, queues, jobs, hosts and racks by short pseudonyms, the same for the same
// name. Without a salt names stay as they are. Only whoever has the salt can test guesses.
type names struct{ salt []byte }

var letters32 = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

func (n *names) on() bool { return len(n.salt) > 0 }

// short is kind and eight letters: among 100,000 names two collide with a probability of 1 in 200.
func (n *names) short(kind, name string) string {
	if !n.on() || name == "" {
		return name
	}
	h := hmac.New(sha256.New, n.salt)
	_, _ = h.Write([]byte(kind + "\x00" + name)) // a hash does not fail
	return kind + letters32.EncodeToString(h.Sum(nil)[:5])
}

func (n *names) user(name string) string { return n.short("u", name) }
func (n *names) job(name string) string  { return n.short("j", name) }

// host replaces a host name as a whole: loopback names and ports get no special treatment.
func (n *names) host(name string) string { return n.short("h", name) }

// rack replaces each component of a rack's path.
func (n *names) rack(path string) string { return n.parts(path, "/", "r", "default-rack") }

// queue replaces each component of a queue's path on its own, so that a leaf has the same name whether it is given by its path or
// alone, and the tree keeps its shape. The root and the queue "default" keep Hadoop's names.
func (n *names) queue(path string) string { return n.parts(path, ".", "q", "root", "default") }

func (n *names) parts(path, between, kind string, kept ...string) string {
	if !n.on() {
		return path
	}
	parts := strings.Split(path, between)
	for i, p := range parts {
		if !slices.Contains(kept, p) {
			parts[i] = n.short(kind, p)
		}
	}
	return strings.Join(parts, between)
}
