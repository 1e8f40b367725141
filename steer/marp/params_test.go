package marp

import (
	"maps"
	"reflect"
	"strings"
	"testing"
)

// What a parameter says it holds, typed again, changes nothing; so every reading and writing meet in the same field.
func TestParamsReadBackWhatTheySay(t *testing.T) {
	for _, controller := range Names() {
		for _, p := range params {
			s := Defaults(controller, "root.default")
			if !concerns(&p, controller) {
				if err := s.Set(controller, p.Name, p.Get(&s)[0]); err == nil {
					t.Errorf("%s takes %s, which it does not read", controller, p.Name)
				}
				continue
			}
			if err := s.Set(controller, p.Name, p.Get(&s)[0]); err != nil {
				t.Errorf("%s: %v", controller, err)
			}
			if d := Defaults(controller, "root.default"); s != d {
				t.Errorf("%s: %s changed something:\n%+v\n%+v", controller, p.Name, s, d)
			}
		}
	}
}

// Every field of the settings has a parameter, except those that the yard or the command gives.
func TestEverySettingHasAName(t *testing.T) {
	given := map[string]bool{"Queue": true, "Limit": true, "Minimum": true, "Min": true, "Max": true, "Service": true}
	other := map[string]string{"value": "0.3", "idle-target": "0.3", "start": "0.3", "inc": "0.3", "dec": "0.3", "weight-current": "0.3", "band-low": "0.3", "band-high": "0.3",
		"smoothing": "sma", "ties": "latest", "am": "7"}
	for i := range params {
		p := &params[i]
		controller := "cbt"
		if len(p.For) > 0 {
			controller = p.For[0]
		}
		s := Defaults(controller, "")
		before := fields(s)
		v, ok := other[p.Name]
		switch {
		case ok:
		case p.Value == "yes|no":
			if v = "yes"; p.Get(&s)[0] == "yes" {
				v = "no"
			}
		case p.Value == "TIME":
			v = "17s"
		default:
			v = "17"
		}
		if err := s.Set(controller, p.Name, v); err != nil {
			t.Fatal(err)
		}
		for name, v := range fields(s) {
			if before[name] != v {
				given[name] = true
			}
		}
	}
	for name := range fields(Settings{}) {
		if !given[name] {
			t.Errorf("%s cannot be set by name", name)
		}
	}
}

// fields are all settings by their fields' names, those of the embedded structs too.
func fields(s any) map[string]any {
	all := map[string]any{}
	for f, v := range reflect.ValueOf(s).Fields() {
		if !f.Anonymous {
			all[f.Name] = v.Interface()
			continue
		}
		maps.Copy(all, fields(v.Interface()))
	}
	return all
}

func TestParamsSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ controller, name, value, want string }{
		{"cbt", "colour", "red", `there is no setting "colour"`},
		{"cbt", "epsilon", "5", "epsilon: cbt does not read it; cbtwat does"},
		{"ahead", "lockout", "5s", "lockout: ahead does not read it; cbtws and cbtwat do"},
		{"static", "value", "half", `value: "half" is not a number`},
		{"cbt", "idle-above", "1.5", `"1.5" is not a whole number`},
		{"cbt", "interval", "soon", `interval: "soon" is not a length of time`},
		{"cbt", "slots", "maybe", `"maybe" is neither yes nor no`},
		{"cbtwat", "ties", "first", `"first" is not one of smallest, largest, latest`},
		{"cbt", "am", "-1", `"-1" is not a number of MiB`},
	} {
		s := Defaults(c.controller, "root.default")
		if err := s.Set(c.controller, c.name, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s=%s: %v, want %q", c.controller, c.name, c.value, err, c.want)
		}
	}
}
