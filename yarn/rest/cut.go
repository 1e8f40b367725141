package rest

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/unit"
)

// Any user may give an application a name, a tag or a diagnostics text of many megabytes, and the ResourceManager lists it. Such
// a text must not end the list for everybody else: it is cut while it is read.

// maxText is how much of a text in a list is kept, in bytes as sent.
const maxText = 64 << 10

// Cut is an element of a list that was not read as sent: a text in it was cut, or all of it was left out because it is too large
// even so.
type Cut struct {
	ID, User string // "": it does not say
	Field    string // that was cut; "": it is not known which
	Bytes    int64  // that the text, or the whole element, took
	LeftOut  bool
}

func (c Cut) String() string {
	owner := term.Name(c.ID)
	if owner == "" {
		owner = "an element without id"
	}
	if c.User != "" {
		owner += ", of user " + term.Name(c.User)
	}
	if c.LeftOut {
		return fmt.Sprintf("%s: it takes %v and is left out: at most %v are read", owner, unit.Bytes(c.Bytes), unit.Bytes(maxElement))
	}
	field := "a field"
	if c.Field != "" {
		field = "its " + term.Name(c.Field)
	}
	return fmt.Sprintf("%s: %s of %v was cut to %v", owner, field, unit.Bytes(c.Bytes), unit.Bytes(maxText))
}

// cuts are the first elements of all lists of a client that were cut, each once, in the order of reading.
type cuts struct {
	mu   sync.Mutex
	list []Cut
	more int64 // those beyond maxCuts
}

// maxCuts bounds what is remembered: every element takes a user one submission.
const maxCuts = 100

func (c *cuts) add(x Cut) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case slices.ContainsFunc(c.list, func(y Cut) bool { return y.ID == x.ID }):
	case len(c.list) < maxCuts:
		c.list = append(c.list, x)
	default:
		c.more++
	}
}

// Cuts says which elements of the lists read so far were cut or left out, from the n-th on: the texts are for people. A caller
// that wants to hear only of new ones passes the number it has heard of.
func (c *Client) Cuts(n int) (texts []string) {
	c.cuts.mu.Lock()
	defer c.cuts.mu.Unlock()
	for _, x := range c.cuts.list[min(n, len(c.cuts.list)):] {
		texts = append(texts, x.String())
	}
	if c.cuts.more > 0 && n <= maxCuts {
		texts = append(texts, "elements of further applications were cut or left out too")
	}
	return texts
}

// SayCuts says which applications were not read as the ResourceManager sent them, each once; said counts them.
func (c *Client) SayCuts(said *int, say func(format string, args ...any)) {
	for _, text := range c.Cuts(*said) {
		say("Note: %s.", text)
		*said++
	}
}

// cutter passes on JSON and drops what its texts have beyond a number of bytes. A text is cut between characters, never inside an
// escape.
type cutter struct {
	r    io.Reader
	keep int64 // bytes of a text
	most int64 // bytes of all

	read, passed int64 // bytes so far
	inText       bool
	dropping     bool
	escape       int       // bytes of an escape still to come; undecided: after its backslash
	length       int64     // of the text so far
	cut          []cutText // not yet taken
}

// cutText is a text that was cut: its length as sent, and how much had been passed on at its end.
type cutText struct{ length, end int64 }

const undecided = -1

func (c *cutter) Read(p []byte) (int, error) {
	for {
		room := min(int64(len(p)), c.most-c.read)
		if room <= 0 && len(p) > 0 {
			return 0, tooLarge(c.most)
		}
		n, err := c.r.Read(p[:room])
		c.read += int64(n)
		kept := 0
		for _, b := range p[:n] {
			if c.take(b) {
				p[kept] = b
				kept++
				c.passed++
			}
		}
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// take says whether a byte is kept.
func (c *cutter) take(b byte) bool {
	switch {
	case !c.inText:
		c.inText, c.length = b == '"', 0
		return true
	case b == '"' && c.escape == 0:
		if c.dropping {
			c.cut = append(c.cut, cutText{c.length, c.passed + 1})
		}
		c.inText, c.dropping = false, false
		return true
	}
	inside := b&0xc0 == 0x80 && c.length < c.keep+utf8.UTFMax // of a character; a text of nothing else is cut all the same
	c.dropping = c.dropping || c.escape == 0 && c.length >= c.keep && !inside
	c.length++
	switch {
	case c.escape == undecided && b == 'u':
		c.escape = 4
	case c.escape == undecided:
		c.escape = 0
	case c.escape > 0:
		c.escape--
	case b == '\\':
		c.escape = undecided
	}
	return !c.dropping
}

// takeCut returns the length of the longest text that was cut before a position of what was passed on, and forgets them; 0: none
// was.
func (c *cutter) takeCut(position int64) (longest int64) {
	for len(c.cut) > 0 && c.cut[0].end <= position {
		longest, c.cut = max(longest, c.cut[0].length), c.cut[1:]
	}
	return longest
}
