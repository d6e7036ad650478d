// Copyright (c) 2026, The winkube.node authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Command apiserver_judge says what kube-apiserver answers when a Pod is created.
//
// It reads a JSON array of Pods (v1) from standard input. Each is decoded strictly, defaulted, converted and handed to
// rest.BeforeCreate with the pod registry's own strategy: the code that the API server runs between decoding a request
// and writing to etcd. Admission plugins are not part of it. Arguments are feature gates (Name=true). Standard output is a JSON array, one object per Pod:
//
//	{"pod": "name", "unknown": ["spec.pod"], "errors": [{"type": "Forbidden", "field": "spec.hostPID", "detail": "..."}]}
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/capabilities"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	kjson "sigs.k8s.io/json"
)

type finding struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

type verdict struct {
	Pod     string    `json:"pod"`
	Unknown []string  `json:"unknown"`
	Errors  []finding `json:"errors"`
}

func judge(raw json.RawMessage) (verdict, error) {
	external := &corev1.Pod{}
	strict, err := kjson.UnmarshalStrict(raw, external)
	if err != nil {
		return verdict{}, err
	}
	out := verdict{Pod: external.Name, Unknown: []string{}, Errors: []finding{}}
	for _, each := range strict {
		out.Unknown = append(out.Unknown, each.Error())
	}
	external.Namespace = "default"
	legacyscheme.Scheme.Default(external)
	internal := &api.Pod{}
	if err := legacyscheme.Scheme.Convert(external, internal, nil); err != nil {
		return verdict{}, err
	}
	ctx := genericapirequest.WithRequestInfo(
		genericapirequest.WithNamespace(genericapirequest.NewContext(), "default"),
		&genericapirequest.RequestInfo{APIVersion: "v1", Resource: "pods", Verb: "create", IsResourceRequest: true},
	)
	rest.FillObjectMetaSystemFields(internal)
	if err := rest.BeforeCreate(podregistry.Strategy, ctx, internal); err != nil {
		status, ok := err.(*apierrors.StatusError)
		if !ok || status.ErrStatus.Details == nil {
			return verdict{}, err
		}
		for _, cause := range status.ErrStatus.Details.Causes {
			out.Errors = append(out.Errors, finding{string(cause.Type), cause.Field, cause.Message})
		}
	}
	sort.SliceStable(out.Errors, func(i, j int) bool { return out.Errors[i].Field < out.Errors[j].Field })
	return out, nil
}

func main() {
	if gates := strings.Join(os.Args[1:], ","); gates != "" {
		if err := utilfeature.DefaultMutableFeatureGate.Set(gates); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	var pods []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&pods); err != nil {
		fmt.Fprintf(os.Stderr, "standard input is no JSON array of Pods: %v\n", err)
		os.Exit(2)
	}
	verdicts := make([]verdict, 0, len(pods))
	for number, raw := range pods {
		each, err := judge(raw)
		if err != nil {
			fmt.Fprintf(os.Stderr, "Pod %d: %v\n", number, err)
			os.Exit(2)
		}
		verdicts = append(verdicts, each)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(verdicts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
