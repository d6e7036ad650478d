/* The Task Scheduler's COM class for Wine, whose own answers no script. Its objects have the types of the library in Wine's
 * taskschd.dll, and IDispatch alone. Each call is put to the node's process, whose address is in
 * C:\Windows\winkube-standins.txt; one connection for each call.
 *
 * Asked, a line of JSON: {"com": object, "member": "...", "put": true or false, "arguments": [...]}; strings, numbers, true, false,
 * null. Answered, fields of UTF-8 each on a line: HRESULT in decimal, kind (o, s, i, b, n), value; a line break in it is \n. An
 * object is its number and the name of its interface.
 */
#include <winsock2.h>
#include <windows.h>
#include <oleauto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_SERVICE ((HRESULT)0x800706BA)

static const GUID TASK_SERVICE = {0x0f87369f, 0xa4e5, 0x4cfc, {0xbd, 0x3e, 0x73, 0xe6, 0x15, 0x45, 0x72, 0xdd}};

typedef struct {
    IDispatch dispatch;
    LONG count;
    int number;
    ITypeInfo *type;
} Object;

typedef struct {
    char *text;
    size_t length, room;
} Buffer;

static void add(Buffer *to, const char *text, size_t length) {
    if (to->length + length + 1 > to->room) {
        to->room = (to->length + length + 1) * 2;
        to->text = realloc(to->text, to->room);
    }
    memcpy(to->text + to->length, text, length);
    to->length += length;
    to->text[to->length] = 0;
}

static void add_text(Buffer *to, const char *text) { add(to, text, strlen(text)); }

static void add_wide(Buffer *to, const WCHAR *text) {
    int size = WideCharToMultiByte(CP_UTF8, 0, text ? text : L"", -1, NULL, 0, NULL, NULL);
    char *bytes = malloc((size_t)size), one[8];
    const char *at;
    WideCharToMultiByte(CP_UTF8, 0, text ? text : L"", -1, bytes, size, NULL, NULL);
    add_text(to, "\"");
    for (at = bytes; *at; at++) {
        if (*at == '"' || *at == '\\' || (unsigned char)*at < 32) {
            snprintf(one, sizeof one, "\\u%04x", (unsigned char)*at);
            add_text(to, one);
        } else {
            add(to, at, 1);
        }
    }
    add_text(to, "\"");
    free(bytes);
}

static SOCKET reach(void) {
    static volatile LONG started;
    WSADATA data;
    struct sockaddr_in address = {0};
    char line[64] = "", *port;
    FILE *file = fopen("C:\\windows\\winkube-standins.txt", "r");
    SOCKET found;
    if (!file) return INVALID_SOCKET;
    if (!fgets(line, sizeof line, file)) line[0] = 0;
    fclose(file);
    port = strchr(line, ':');
    if (!InterlockedExchange(&started, 1)) WSAStartup(MAKEWORD(2, 2), &data);
    found = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((u_short)atoi(port ? port + 1 : "0"));
    if (connect(found, (struct sockaddr *)&address, sizeof address)) {
        closesocket(found);
        return INVALID_SOCKET;
    }
    return found;
}

static HRESULT exchange(Buffer *question, Buffer *answer) {
    char piece[4096];
    size_t sent = 0;
    int size;
    SOCKET server = reach();
    if (server == INVALID_SOCKET) return NO_SERVICE;
    while (sent < question->length) {
        size = send(server, question->text + sent, (int)(question->length - sent), 0);
        if (size <= 0) break;
        sent += (size_t)size;
    }
    while ((size = recv(server, piece, sizeof piece, 0)) > 0) add(answer, piece, (size_t)size);
    closesocket(server);
    return answer->length ? S_OK : NO_SERVICE;
}

static IDispatch *make(int number, const WCHAR *name);

static HRESULT STDMETHODCALLTYPE query(IDispatch *self, REFIID id, void **out) {
    *out = NULL;
    if (!IsEqualGUID(id, &IID_IUnknown) && !IsEqualGUID(id, &IID_IDispatch)) return E_NOINTERFACE;
    *out = self;
    self->lpVtbl->AddRef(self);
    return S_OK;
}

static ULONG STDMETHODCALLTYPE add_ref(IDispatch *self) { return (ULONG)InterlockedIncrement(&((Object *)self)->count); }

static ULONG STDMETHODCALLTYPE release(IDispatch *self) {
    Object *it = (Object *)self;
    LONG left = InterlockedDecrement(&it->count);
    if (!left) {
        if (it->type) it->type->lpVtbl->Release(it->type);
        free(it);
    }
    return (ULONG)left;
}

static HRESULT STDMETHODCALLTYPE type_count(IDispatch *self, UINT *count) {
    *count = ((Object *)self)->type ? 1 : 0;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE type_info(IDispatch *self, UINT index, LCID language, ITypeInfo **out) {
    ITypeInfo *type = ((Object *)self)->type;
    (void)language;
    *out = NULL;
    if (index || !type) return DISP_E_BADINDEX;
    type->lpVtbl->AddRef(type);
    *out = type;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE ids(IDispatch *self, REFIID none, LPOLESTR *wanted, UINT count, LCID language, DISPID *found) {
    ITypeInfo *type = ((Object *)self)->type;
    (void)none, (void)language;
    return type ? type->lpVtbl->GetIDsOfNames(type, wanted, count, found) : DISP_E_UNKNOWNNAME;
}

/* Windows' library has dual interfaces, whose types show themselves as those of IDispatch: so, and without the value that is
 * given back among the parameters. Wine's has them as plain interfaces, which PowerShell leaves alone. */
static ITypeInfoVtbl *before;
static ITypeInfo2Vtbl shown_as_dual;

static HRESULT STDMETHODCALLTYPE attributes(ITypeInfo2 *self, TYPEATTR **out) {
    HRESULT code = before->GetTypeAttr((ITypeInfo *)self, out);
    if (SUCCEEDED(code)) (*out)->typekind = TKIND_DISPATCH;
    return code;
}

static HRESULT STDMETHODCALLTYPE function(ITypeInfo2 *self, UINT index, FUNCDESC **out) {
    HRESULT code = before->GetFuncDesc((ITypeInfo *)self, index, out);
    FUNCDESC *found = *out;
    SHORT last = SUCCEEDED(code) ? (SHORT)(found->cParams - 1) : -1;
    if (FAILED(code)) return code;
    found->elemdescFunc.tdesc.vt = VT_VOID;
    if (last >= 0 && found->lprgelemdescParam[last].paramdesc.wParamFlags & PARAMFLAG_FRETVAL) {
        found->elemdescFunc.tdesc = *found->lprgelemdescParam[last].tdesc.lptdesc;
        found->cParams = last;
    }
    return code;
}

static void show_as_dual(ITypeInfo *type) {
    if (!before) {
        before = type->lpVtbl;
        memcpy(&shown_as_dual, type->lpVtbl, sizeof shown_as_dual);
        shown_as_dual.GetTypeAttr = attributes;
        shown_as_dual.GetFuncDesc = function;
    }
    type->lpVtbl = (ITypeInfoVtbl *)&shown_as_dual;
}

/* The type of that name in Wine's own library. */
static ITypeInfo *type_of(const WCHAR *name) {
    static ITypeLib *library;
    ITypeInfo *found = NULL;
    UINT at, count;
    BSTR shown;
    if (!library && FAILED(LoadTypeLibEx(L"C:\\windows\\system32\\taskschd.dll", REGKIND_NONE, &library))) return NULL;
    count = library->lpVtbl->GetTypeInfoCount(library);
    for (at = 0; at < count && !found; at++) {
        if (FAILED(library->lpVtbl->GetDocumentation(library, (INT)at, &shown, NULL, NULL, NULL))) continue;
        if (!lstrcmpiW(shown, name)) library->lpVtbl->GetTypeInfo(library, at, &found);
        SysFreeString(shown);
    }
    if (found) show_as_dual(found);
    return found;
}

static void put_value(Buffer *to, VARIANT *value) {
    VARIANT plain;
    char number[24];
    VariantInit(&plain);
    if (FAILED(VariantCopyInd(&plain, value))) {
        add_text(to, "null");
        return;
    }
    if (plain.vt == VT_BSTR) {
        add_wide(to, plain.bstrVal);
    } else if (plain.vt == VT_BOOL) {
        add_text(to, plain.boolVal ? "true" : "false");
    } else if (plain.vt == VT_I4 || plain.vt == VT_I2 || plain.vt == VT_I1 || plain.vt == VT_UI1) {
        VariantChangeType(&plain, &plain, 0, VT_I4);
        snprintf(number, sizeof number, "%ld", (long)plain.lVal);
        add_text(to, number);
    } else {
        add_text(to, "null");
    }
    VariantClear(&plain);
}

static BSTR wide(const char *text) {
    int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    WCHAR *out = malloc((size_t)size * sizeof(WCHAR));
    BSTR made;
    MultiByteToWideChar(CP_UTF8, 0, text, -1, out, size);
    made = SysAllocString(out);
    free(out);
    return made;
}

/* Takes the backslashes out. */
static void plain(char *text) {
    char *to = text;
    for (; *text; text++) {
        if (*text == '\\' && text[1]) {
            text++;
            *to++ = *text == 'n' ? '\n' : *text == 'r' ? '\r' : *text;
        } else {
            *to++ = *text;
        }
    }
    *to = 0;
}

static HRESULT STDMETHODCALLTYPE invoke(IDispatch *self, DISPID member, REFIID none, LCID language, WORD flags,
                                        DISPPARAMS *given, VARIANT *result, EXCEPINFO *trouble, UINT *wrong) {
    Buffer question = {0}, answer = {0};
    char head[64], *kind, *value, *name;
    ITypeInfo *type = ((Object *)self)->type;
    BSTR shown = NULL, interface_name;
    HRESULT code;
    UINT at;
    (void)none, (void)language, (void)trouble, (void)wrong;
    if (!type || FAILED(type->lpVtbl->GetNames(type, member, &shown, 1, &at)) || !at) return DISP_E_MEMBERNOTFOUND;
    snprintf(head, sizeof head, "{\"com\": %d, \"put\": %s, \"member\": ", ((Object *)self)->number,
             flags & (DISPATCH_PROPERTYPUT | DISPATCH_PROPERTYPUTREF) ? "true" : "false");
    add_text(&question, head);
    add_wide(&question, shown);
    SysFreeString(shown);
    add_text(&question, ", \"arguments\": [");
    for (at = given->cArgs; at > 0; at--) {
        put_value(&question, &given->rgvarg[at - 1]);
        if (at > 1) add_text(&question, ", ");
    }
    add_text(&question, "]}\n");
    code = exchange(&question, &answer);
    free(question.text);
    if (FAILED(code)) return code;
    kind = strchr(answer.text, '\n');
    value = kind ? strchr(kind + 1, '\n') : NULL;
    code = (HRESULT)strtol(answer.text, NULL, 10);
    if (SUCCEEDED(code) && result && value) {
        VariantInit(result);
        value++;
        value[strcspn(value, "\n")] = 0;
        switch (kind[1]) {
        case 'o':
            name = strchr(value, ' ');
            interface_name = wide(name ? name + 1 : "");
            result->vt = VT_DISPATCH;
            result->pdispVal = make(atoi(value), interface_name);
            SysFreeString(interface_name);
            break;
        case 's':
            plain(value);
            result->vt = VT_BSTR;
            result->bstrVal = wide(value);
            break;
        case 'i':
            result->vt = VT_I4;
            result->lVal = atoi(value);
            break;
        case 'b':
            result->vt = VT_BOOL;
            result->boolVal = *value == '1' ? VARIANT_TRUE : VARIANT_FALSE;
            break;
        }
    }
    free(answer.text);
    return code;
}

static IDispatchVtbl TABLE = {query, add_ref, release, type_count, type_info, ids, invoke};

static IDispatch *make(int number, const WCHAR *name) {
    Object *made = malloc(sizeof *made);
    made->dispatch.lpVtbl = &TABLE;
    made->count = 1;
    made->number = number;
    made->type = type_of(name);
    return &made->dispatch;
}

static HRESULT STDMETHODCALLTYPE factory_query(IClassFactory *self, REFIID id, void **out) {
    *out = NULL;
    if (!IsEqualGUID(id, &IID_IUnknown) && !IsEqualGUID(id, &IID_IClassFactory)) return E_NOINTERFACE;
    *out = self;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE factory_count(IClassFactory *self) {
    (void)self;
    return 2;
}

static HRESULT STDMETHODCALLTYPE factory_make(IClassFactory *self, IUnknown *outer, REFIID id, void **out) {
    IDispatch *made;
    HRESULT code;
    (void)self;
    if (outer) return CLASS_E_NOAGGREGATION;
    made = make(0, L"ITaskService");
    code = made->lpVtbl->QueryInterface(made, id, out);
    made->lpVtbl->Release(made);
    return code;
}

static HRESULT STDMETHODCALLTYPE factory_lock(IClassFactory *self, BOOL held) {
    (void)self, (void)held;
    return S_OK;
}

static IClassFactoryVtbl FACTORY_TABLE = {factory_query, factory_count, factory_count, factory_make, factory_lock};
static IClassFactory FACTORY = {&FACTORY_TABLE};

/* mingw declares them without the word. */
#pragma clang diagnostic ignored "-Wdll-attribute-on-redeclaration"
__declspec(dllexport) HRESULT WINAPI DllGetClassObject(REFCLSID wanted, REFIID id, void **out) {
    if (!IsEqualGUID(wanted, &TASK_SERVICE)) return CLASS_E_CLASSNOTAVAILABLE;
    return FACTORY.lpVtbl->QueryInterface(&FACTORY, id, out);
}

__declspec(dllexport) HRESULT WINAPI DllCanUnloadNow(void) { return S_FALSE; }
