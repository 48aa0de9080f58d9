// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestLine holds lines against encoding/json: with each field alone, with all, and
// with texts that have to be escaped.
func TestLine(t *testing.T) {
	records := []*Record{{}}
	all := &Record{}
	for i := range reflect.TypeFor[Record]().NumField() {
		one := &Record{}
		for _, r := range []*Record{one, all} {
			fill(t, reflect.ValueOf(r).Elem().Field(i), i)
		}
		records = append(records, one)
	}
	records = append(records, all, &Record{Session: "a\"b\\c\n<é>& /1@1", At: -1})
	var l line
	for _, r := range records {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.of(r); err != nil || string(got) != string(want)+"\n" {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
	}
}

func fill(t *testing.T, v reflect.Value, i int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Int64:
		v.SetInt(int64(i + 1))
	case reflect.Uint64:
		v.SetUint(uint64(i + 1))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		t.Fatalf("a field of kind %v", v.Kind())
	}
}
