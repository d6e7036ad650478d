// What client-go makes of kubeconfigs: it asks each one's server for /version with the credentials that it finds there.
// Standard input: a JSON array of paths. Standard output: a JSON array, for each path the server's answer (said) or
// client-go's words (refused).
package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type answer struct {
	Said    json.RawMessage `json:"said,omitempty"`
	Refused string          `json:"refused,omitempty"`
}

func ask(path string) ([]byte, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return client.Get().AbsPath(config.APIPath, "version").Do(limited).Raw()
}

func main() {
	var paths []string
	if err := json.NewDecoder(os.Stdin).Decode(&paths); err != nil {
		panic(err)
	}
	answers := []answer{}
	for _, path := range paths {
		said, err := ask(path)
		if err != nil {
			answers = append(answers, answer{Refused: err.Error()})
			continue
		}
		answers = append(answers, answer{Said: said})
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
