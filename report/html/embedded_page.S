// The page as bytes of the program, from orrery_page_begin to orrery_page_end.
    .section .rodata
    .global orrery_page_begin
    .global orrery_page_end
orrery_page_begin:
    .incbin ORRERY_PAGE
orrery_page_end:
    .section .note.GNU-stack,"",@progbits
