"""WS-Management as Windows speaks it to WinRM clients: HTTP, who logs in, SOAP, shells."""
