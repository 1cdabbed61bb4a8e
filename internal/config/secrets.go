package config

import (
	"fmt"
	"reflect"
	"strings"

	"dedup-dashboard/internal/secret"
)

// addSecrets records every secret whose environment variable or file could not be read.
func (c *report) addSecrets(f *file) { c.walkSecrets(reflect.ValueOf(f).Elem(), "") }

func (c *report) walkSecrets(v reflect.Value, path string) {
	if s, ok := v.Interface().(secret.Secret); ok {
		if s.Err() != nil {
			c.addUnread(path, "%s", s.Err())
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.walkSecrets(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.walkSecrets(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			c.walkField(v.Type().Field(i), v.Field(i), path)
		}
	}
}

func (c *report) walkField(field reflect.StructField, v reflect.Value, path string) {
	if !field.IsExported() {
		return
	}
	name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	switch {
	case options == "inline":
		c.walkSecrets(v, path)
	case name != "" && name != "-":
		c.walkSecrets(v, join(path, name))
	}
}
