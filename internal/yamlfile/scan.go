package yamlfile

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// The library's scanner is linear in the text, some 300 bytes per punctuation character. Its parser is not: it recurses,
// keeps the path of every node as a string (its depth times the length of its keys), copies the keys read so far for every
// further key of a mapping, and moves all following tokens for every omitted value. So punctuation is counted before the
// scanner runs, and the tokens are checked before the parser runs.
const (
	maxPunctuation = 1 << 20 // punctuation characters and line ends of a file: a cluster of 100,000 named nodes fits
	maxDepth       = 16      // levels of nesting: no file of ours needs more than five
	maxPath        = 512     // bytes of the keys that lead to a value
	maxKeys        = 256     // keys of one mapping
	maxOmitted     = 4096    // omitted values
)

// shape tracks the open collections and the number of omitted values.
type shape struct {
	open    []level
	omitted int
}

// level is an open collection: a block, known by the column of its keys or dashes, or a flow.
type level struct {
	column    int
	keys, key int // how many there were, and the bytes of the last
}

// In place of the column of a flow.
const (
	flowList    = 0
	flowMapping = -1
)

// scan returns the file's tokens, if they are safe to parse.
func (f *file) scan() (token.Tokens, error) {
	signs := 0
	for i := range len(f.text) {
		if c := f.text[i]; c < 'A' && c > ' ' && (c < '0' || c > '9') && c != '.' && c != '/' || c > 'Z' && c < 'a' || c > 'z' || c == '\n' {
			signs++
		}
	}
	if signs > maxPunctuation {
		return nil, &Error{File: f.name, Line: 1, Col: 1, Msg: fmt.Sprintf("has more than %d punctuation characters and line breaks, which no scenario or cluster file should have", maxPunctuation)}
	}
	tokens := lexer.Tokenize(f.text)
	var s shape
	for _, tk := range tokens {
		if msg := s.add(tk); msg != "" {
			return nil, (&Node{file: f, line: tk.Position.Line, col: tk.Position.Column}).Errorf("%s", msg)
		}
	}
	return tokens, nil
}

// add adds the next token and returns what is wrong with the shape; "": nothing.
func (s *shape) add(tk *token.Token) string {
	switch tk.Type {
	case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType:
		return notPlain
	case token.SequenceStartType:
		s.open = append(s.open, level{column: flowList})
	case token.MappingStartType:
		s.open = append(s.open, level{column: flowMapping})
	case token.CollectEntryType:
		s.open = s.open[:s.entry(tk)]
	case token.SequenceEndType, token.MappingEndType:
		s.open = s.open[:max(s.entry(tk)-1, 0)]
	case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
		at := tk
		if tk.Type == token.MappingValueType && tk.Prev != nil {
			at = tk.Prev // the key
		}
		if follows(at) && at.Position.Line > at.Prev.Position.Line {
			s.omitted++
		}
		s.block(at.Position.Column)
		if tk.Type == token.SequenceEntryType {
			break
		}
		here := &s.open[len(s.open)-1]
		here.keys, here.key = here.keys+1, len(at.Value)
		path := 0
		for _, l := range s.open {
			path += l.key
		}
		if path > maxPath {
			return fmt.Sprintf("ends a key that makes more than %d characters with those it stands under", maxPath)
		}
		if here.keys > maxKeys {
			return fmt.Sprintf("ends one key more than the %d that a mapping may have", maxKeys)
		}
	}
	if len(s.open) > maxDepth {
		return tooDeep
	}
	if s.omitted > maxOmitted {
		return fmt.Sprintf("comes after %d empty values; write them or drop their keys", maxOmitted)
	}
	return ""
}

// block enters the block of a column: those further to the right end.
func (s *shape) block(column int) {
	n := len(s.open)
	for n > 0 && s.open[n-1].column > column {
		n--
	}
	if s.open = s.open[:n]; n == 0 || s.open[n-1].column < column {
		s.open = append(s.open, level{column: column})
	}
}

// entry ends an entry of the innermost flow, and with it the blocks inside. It returns how many collections are open up to that flow.
func (s *shape) entry(tk *token.Token) int {
	n := len(s.open)
	for n > 0 && s.open[n-1].column > 0 {
		n--
	}
	bare := n > 0 && n == len(s.open) && s.open[n-1].column == flowMapping && tk.Prev.Type != token.MappingStartType // a key alone
	if bare || follows(tk) {
		s.omitted++
	}
	return n
}

// follows says whether a token directly follows a dash or a colon: there may be no value between them.
func follows(tk *token.Token) bool {
	return tk.Prev != nil && (tk.Prev.Type == token.SequenceEntryType || tk.Prev.Type == token.MappingValueType)
}
