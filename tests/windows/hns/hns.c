/* computenetwork.dll and vmcompute.dll for Wine, which has neither: each call is put to 127.0.0.1:%WINKUBE_HNS_PORT%,
 * where server.py answers. One connection for each call.
 *
 * Asked: fields of UTF-8, each after its length (32 bits, little endian): name of the function, GUID or "", handle in
 * decimal or "0", texts; their number stands in front. Answered: HRESULT (32 bits), handle (64 bits), then two fields:
 * what the function gives back, and its error document. An empty field is a null pointer.
 *
 * Signatures: hcsshim v0.13.0 hcn/hcn.go, internal/hns/hns.go.
 */
#include <winsock2.h>
#include <windows.h>
#include <objbase.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_SERVICE ((HRESULT)0x800706BA)
#define EXPORT __declspec(dllexport) HRESULT WINAPI
typedef void *HANDLE_OF;

static int put(SOCKET to, const char *data, DWORD size) {
    while (size) {
        int sent = send(to, data, (int)size, 0);
        if (sent <= 0) return 0;
        data += sent;
        size -= (DWORD)sent;
    }
    return 1;
}

static int get(SOCKET from, char *data, DWORD size) {
    while (size) {
        int read = recv(from, data, (int)size, 0);
        if (read <= 0) return 0;
        data += read;
        size -= (DWORD)read;
    }
    return 1;
}

static int put_field(SOCKET to, const char *text) {
    DWORD size = (DWORD)strlen(text);
    return put(to, (const char *)&size, 4) && put(to, text, size);
}

static int put_wide(SOCKET to, const WCHAR *text) {
    int size = WideCharToMultiByte(CP_UTF8, 0, text ? text : L"", -1, NULL, 0, NULL, NULL);
    char *bytes = malloc((size_t)size);
    int done;
    WideCharToMultiByte(CP_UTF8, 0, text ? text : L"", -1, bytes, size, NULL, NULL);
    done = put_field(to, bytes);
    free(bytes);
    return done;
}

/* A field as a string that the caller frees by CoTaskMemFree. */
static int get_field(SOCKET from, WCHAR **out) {
    DWORD size = 0;
    char *bytes;
    int wide;
    if (!get(from, (char *)&size, 4)) return 0;
    bytes = calloc(size + 1, 1);
    if (!get(from, bytes, size)) {
        free(bytes);
        return 0;
    }
    if (out) {
        *out = NULL;
        if (size) {
            wide = MultiByteToWideChar(CP_UTF8, 0, bytes, -1, NULL, 0);
            *out = CoTaskMemAlloc((SIZE_T)wide * sizeof(WCHAR));
            MultiByteToWideChar(CP_UTF8, 0, bytes, -1, *out, wide);
        }
    }
    free(bytes);
    return 1;
}

static SOCKET reach(void) {
    static volatile LONG started;
    WSADATA data;
    struct sockaddr_in address = {0};
    const char *port = getenv("WINKUBE_HNS_PORT");
    SOCKET found;
    if (!InterlockedExchange(&started, 1)) WSAStartup(MAKEWORD(2, 2), &data);
    found = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((u_short)atoi(port ? port : "0"));
    if (found != INVALID_SOCKET && connect(found, (struct sockaddr *)&address, sizeof address)) {
        closesocket(found);
        return INVALID_SOCKET;
    }
    return found;
}

static HRESULT ask(const char *name, const GUID *id, HANDLE_OF handle, const WCHAR **texts, DWORD count,
                   HANDLE_OF *made, WCHAR **given, WCHAR **error) {
    char guid[40] = "", number[24];
    DWORD fields = 3 + count, at;
    HRESULT code = NO_SERVICE;
    UINT64 opened = 0;
    SOCKET server = reach();
    int fine;
    if (server == INVALID_SOCKET) return code;
    if (id)
        snprintf(guid, sizeof guid, "%08lx-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", id->Data1, id->Data2, id->Data3,
                 id->Data4[0], id->Data4[1], id->Data4[2], id->Data4[3], id->Data4[4], id->Data4[5], id->Data4[6],
                 id->Data4[7]);
    snprintf(number, sizeof number, "%llu", (unsigned long long)(UINT_PTR)handle);
    fine = put(server, (const char *)&fields, 4) && put_field(server, name) && put_field(server, guid) &&
           put_field(server, number);
    for (at = 0; fine && at < count; at++) fine = put_wide(server, texts[at]);
    fine = fine && get(server, (char *)&code, 4) && get(server, (char *)&opened, 8) && get_field(server, given) &&
           get_field(server, error);
    closesocket(server);
    if (!fine) return NO_SERVICE;
    if (made) *made = (HANDLE_OF)(UINT_PTR)opened;
    return code;
}

#define COMMON(One, Many)                                                                                              \
    EXPORT HcnEnumerate##Many(const WCHAR *query, WCHAR **found, WCHAR **error) {                                      \
        return ask("HcnEnumerate" #Many, NULL, NULL, &query, 1, NULL, found, error);                                   \
    }                                                                                                                  \
    EXPORT HcnOpen##One(const GUID *id, HANDLE_OF *opened, WCHAR **error) {                                            \
        return ask("HcnOpen" #One, id, NULL, NULL, 0, opened, NULL, error);                                            \
    }                                                                                                                  \
    EXPORT HcnModify##One(HANDLE_OF handle, const WCHAR *settings, WCHAR **error) {                                    \
        return ask("HcnModify" #One, NULL, handle, &settings, 1, NULL, NULL, error);                                   \
    }                                                                                                                  \
    EXPORT HcnQuery##One##Properties(HANDLE_OF handle, const WCHAR *query, WCHAR **found, WCHAR **error) {             \
        return ask("HcnQuery" #One "Properties", NULL, handle, &query, 1, NULL, found, error);                         \
    }                                                                                                                  \
    EXPORT HcnDelete##One(const GUID *id, WCHAR **error) {                                                             \
        return ask("HcnDelete" #One, id, NULL, NULL, 0, NULL, NULL, error);                                            \
    }                                                                                                                  \
    EXPORT HcnClose##One(HANDLE_OF handle) { return ask("HcnClose" #One, NULL, handle, NULL, 0, NULL, NULL, NULL); }

#define CREATE(One)                                                                                                    \
    EXPORT HcnCreate##One(const GUID *id, const WCHAR *settings, HANDLE_OF *made, WCHAR **error) {                     \
        return ask("HcnCreate" #One, id, NULL, &settings, 1, made, NULL, error);                                       \
    }

COMMON(Network, Networks)
COMMON(Endpoint, Endpoints)
COMMON(Namespace, Namespaces)
COMMON(LoadBalancer, LoadBalancers)
CREATE(Network)
CREATE(Namespace)
CREATE(LoadBalancer)

EXPORT HcnCreateEndpoint(HANDLE_OF network, const GUID *id, const WCHAR *settings, HANDLE_OF *made, WCHAR **error) {
    return ask("HcnCreateEndpoint", id, network, &settings, 1, made, NULL, error);
}

EXPORT HNSCall(const WCHAR *method, const WCHAR *path, const WCHAR *object, WCHAR **answer) {
    const WCHAR *texts[] = {method, path, object};
    return ask("HNSCall", NULL, NULL, texts, 3, NULL, answer, NULL);
}
